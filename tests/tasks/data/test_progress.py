"""A bar for whoever looks, silence for the rest."""

from acprop.tasks.data import fetch
from acprop.tasks.data.progress import DownloadBar

from .tiny import OFFICIAL


def test_a_terminal_sees_what_is_done_and_how_far(terminal):
    with DownloadBar("fetch") as bar:
        bar.begin("mnist: train-images")
        bar.total = 2_000_000
        bar.update(500_000)
        assert bar.total == 2_000_000
    assert "mnist: train-images" in terminal.getvalue()
    assert "0.5/2.0 MB" in terminal.getvalue()


def test_a_new_piece_of_work_has_no_length_yet():
    with DownloadBar("fetch") as bar:
        bar.total = 2
        bar.begin("words: reading")
        assert bar.total is None


def test_a_length_that_the_server_does_not_tell_is_no_length():
    with DownloadBar("fetch") as bar:
        bar.begin("x")
        bar.total = 0  # what pooch makes of a missing Content-Length
        assert bar.total is None


def test_a_fetch_shows_its_source(terminal, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    assert "tiny: " in terminal.getvalue()


def test_progress_false_is_silent_on_a_terminal(terminal, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path, progress=False)
    assert terminal.getvalue() == ""


def test_a_pipe_sees_nothing(capfd, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    assert capfd.readouterr() == ("", "")
