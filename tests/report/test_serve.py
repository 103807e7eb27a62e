"""The page on localhost, and nowhere else."""

import http.client
import socket
from threading import Thread

import pytest

from acprop.report.serve import PageServer


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "index.html").write_text("<p>the page</p>")
    (tmp_path / "figures").mkdir()
    return tmp_path


@pytest.fixture
def server(folder):
    with PageServer(folder, 0) as made:
        thread = Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, host=None):
    there = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    there.request("GET", path, headers={"Host": host} if host else {})
    answer = there.getresponse()
    body = answer.read()
    there.close()
    return answer, body


def test_it_shows_the_page_and_keeps_quiet(server, capfd):
    assert server.address == f"http://127.0.0.1:{server.server_port}/"
    answer, body = ask(server, "/")
    assert (answer.status, body) == (200, b"<p>the page</p>")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert capfd.readouterr() == ("", "")


def test_only_this_machine_can_ask(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1:1", 200),
        ("localhost", 200),  # what a browser sends to port 80
        ("127.0.0.1", 200),
        ("evil.example:1", 421),
        ("evil.example", 421),
        (":1", 421),
    ],
)
def test_it_answers_only_to_its_own_name(server, host, status):
    assert ask(server, "/", host)[0].status == status


@pytest.mark.parametrize(
    "path",
    [
        "/figures/", "/nothing.html", "/../secret", "/%00", "/index.html%00", "/%ff",
        "/%ed%a0%80", f"/{'x' * 5000}", "/link.html", "/linked/index.html", "/linked/",
        "/figures/deep/",
    ],
)  # fmt: skip
def test_it_shows_no_folders_no_links_and_nothing_outside(
    server, folder, path, tmp_path_factory, capfd
):
    other = tmp_path_factory.mktemp("other")
    (other / "index.html").write_text("private")
    (folder / "link.html").symlink_to(other / "index.html")
    (folder / "linked").symlink_to(other)
    (folder / "figures" / "deep").mkdir()
    (folder / "figures" / "deep" / "index.html").symlink_to(other / "index.html")
    assert ask(server, path)[0].status == 404
    assert capfd.readouterr() == ("", "")  # no traceback


def test_a_folder_that_is_a_link_itself_is_shown(folder, tmp_path_factory):
    link = tmp_path_factory.mktemp("links") / "page"
    link.symlink_to(folder)
    with PageServer(link, 0) as made:
        Thread(target=made.serve_forever, daemon=True).start()
        assert ask(made, "/")[0].status == 200
        made.shutdown()


def test_a_folder_without_a_page_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"folder must hold index.html, got .*acprop"):
        PageServer(tmp_path, 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_cannot_be_is_refused(folder, port):
    with pytest.raises(ValueError, match=f"port must be .*got {port}"):
        PageServer(folder, port)


def test_a_port_that_is_taken_is_refused(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(ValueError, match=f"port must be free .*got {taken}"):
            PageServer(folder, taken)
