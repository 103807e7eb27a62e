"""One bar for everything that is long."""

from acprop.progress import Bar


def test_a_bar_says_what_is_done_and_what_share(terminal):
    with Bar("begin", 4) as bar:
        bar.show("claims")
        bar.advance()
        bar.advance(2)
    assert "claims" in terminal.getvalue()
    assert "75%" in terminal.getvalue()


def test_shares_of_several_things_add_up_and_never_fall(terminal):
    with Bar("runs", 10) as bar:
        bar.share("a", 0.5, weight=8)
        bar.share("b", 1.0, weight=2)
        bar.share("a", 0.25, weight=8)  # an old report that comes late
    assert terminal.getvalue().count("60%")
    assert "40%" not in terminal.getvalue().split("60%")[-1]


def test_a_quiet_bar_shows_nothing(terminal):
    with Bar("claims", 4, quiet=True) as bar:
        bar.advance()
    assert terminal.getvalue() == ""


def test_a_log_gets_a_line_for_each_part_with_the_time_left(capsys, monkeypatch):
    """20 minutes without a word look like a hang."""
    clock = iter([0.0, 30.0, 120.0])
    monkeypatch.setattr("acprop.progress.time.monotonic", lambda: next(clock))
    with Bar("begin", 4) as bar:
        bar.advance()
        bar.finish_part("claims")
        bar.advance(3)
        bar.finish_part("vision/mnist-mlp")
    assert capsys.readouterr().err.splitlines() == [
        "claims: done after 30 s; 25% of the work, about 1 min 30 s left",
        "vision/mnist-mlp: done after 2 min 0 s",
    ]
