"""`acprop report`: records → page, and the page on localhost."""

import html
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app
from acprop.records import Verdict, write

CLAIM = Verdict("one", "paper", "central", "Lemma 1", "so", "holds", "seen", {}, 0.1)


def test_records_become_a_page_with_the_explorer_beside_it(tmp_path):
    write(tmp_path / "verdicts.jsonl", [CLAIM])
    words = ["report", str(tmp_path / "verdicts.jsonl"), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, words).exit_code == 0
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    explorer = (tmp_path / "out" / "explorer.html").read_text("utf-8")
    assert 'href="explorer.html"' in page
    assert 'href="index.html"' in explorer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"record": "verdict"}\n', "a.jsonl, line 1: schema must be 2, got None"),
        (
            '{"record": "run", "schema": 2, "\\u001b[31m": 1}',
            "a.jsonl, line 1: run must",
        ),
        ("[" * 200_000, "a.jsonl, line 1: it is cut off or no JSON (recursion limit"),
        ("", "a.jsonl: no record in it"),
    ],
    ids=["a line", "an escape", "brackets", "nothing"],
)
@pytest.mark.parametrize("beside", [[], [CLAIM]], ids=["alone", "beside another"])
def test_a_file_that_cannot_be_read_is_named_and_ends_with_1(
    text, why, beside, tmp_path
):
    (tmp_path / "a.jsonl").write_text(text)
    write(tmp_path / "b.jsonl", beside)
    paths = [str(tmp_path / f"{name}.jsonl") for name in "ab"[: 1 + len(beside)]]
    words = ["report", *paths, "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 1
    assert said.stderr.startswith(f"not shown: {why}")
    assert "\x1b" not in said.stderr
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert why in html.unescape(page)
    assert (tmp_path / "out" / "claims.html").exists() == bool(beside)


def test_options_may_come_before_the_records(tmp_path):
    write(tmp_path / "verdicts.jsonl", [CLAIM])
    words = ["report", "--out", str(tmp_path / "out"), str(tmp_path / "verdicts.jsonl")]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_serve_prints_its_address_answers_and_ends_on_ctrl_c(tmp_path, start):
    (tmp_path / "index.html").write_text("<p>here</p>")
    words = [sys.executable, "-m", "acprop", "report", "serve", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start([*words, "--port", "0"], **pipes)
    line = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
    open_locally = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with open_locally.open(address, timeout=60) as answer:
        assert answer.read() == b"<p>here</p>"
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr.read() == "stopped\n"


def test_serve_refuses_a_folder_without_a_page(tmp_path):
    words = [sys.executable, "-m", "acprop", "report", "serve", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: folder must hold index.html, got ")
