import os
import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest

from acprop.records import (
    Verdict,
    write,
)
from acprop.report.figures import draw

from .made import boundary, cell, curves, named, region, surface

BORDER = boundary([(3, "diverges", (0.6,)), (4, "diverges", (0.7,))])
VERDICT = Verdict("c", "ours", "central", "here", "it is so", "holds", "seen", {}, 0.1)
RECORDS = {
    "regions": [region(), region("acprop"), BORDER],
    "large region": [
        region(cells=[cell(p, 1 - 0.9**k) for p in range(3, 60) for k in range(1, 60)])
    ],
    "boundary": [BORDER],
    "curves": [named("adam", "theory"), named("sgd")],
    "long curves": [curves([("adam", range(3_000), np.sin(range(3_000)))])],
    "surfaces": [surface([[-1, 2], [3, 4]]), surface([[1, 2], [3, 4]])],
}


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        *((kind, ".svg") for kind in RECORDS),
        *((kind, ".png") for kind in ("regions", "curves", "surfaces")),
        *((kind, ".pdf") for kind in ("large region", "long curves")),
    ],
)
def test_the_same_records_give_the_same_bytes(kind, suffix, tmp_path):
    records = RECORDS[kind]
    draw(records, tmp_path / f"a{suffix}")
    with matplotlib.rc_context({"axes.facecolor": "red", "svg.hashsalt": "other"}):
        draw(records, tmp_path / f"b{suffix}")
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 2_000


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_a_file_says_nothing_about_when_it_was_drawn(suffix, tmp_path):
    draw([region()], tmp_path / f"a{suffix}")
    assert b"date" not in (tmp_path / f"a{suffix}").read_bytes().lower()


def test_another_process_draws_the_same_bytes(tmp_path):
    write(tmp_path / "records.jsonl", [region()])
    draw([region()], tmp_path / "a.svg")
    program = (
        "import sys; from pathlib import Path; from acprop.records import read;"
        "from acprop.report.figures import draw;"
        "draw(list(read(Path(sys.argv[1]))), Path(sys.argv[2]))"
    )
    files = [str(tmp_path / name) for name in ("records.jsonl", "b.svg")]
    subprocess.run([sys.executable, "-c", program, *files], check=True)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


WRONG = {
    "none": ([], r"records must be regions and .*, got none; draw each"),
    "mixed": ([region(), named("adam")], r"records must .*, got region, curves;"),
    "a verdict": ([VERDICT], r"records must .*, got verdict;"),
    "no cells": ([region(cells=[])], r"cells must be one or more, got none; leave"),
    "beta2 is 1": ([region(cells=[cell(3, 1.0)])], r"beta2 must be in \[0, 1\), got 1"),
    "another beta1": (
        [region(beta1=0.5), BORDER],
        r"boundary must have a region .*, got adam, dense, 0.9; draw it on its own",
    ),
    "no crossings": (
        [boundary([(3, "converges", ())])],
        r"crossings must have one beta2 or more, got none; draw the boundary",
    ),
    "no lines": ([curves([])], r"lines must be one or more, got none in 'a panel'"),
    "short y": (
        [curves([("adam", (1, 2), (1,))])],
        r"y must be as long as x = 2, got 1",
    ),
    "no logarithm": (
        [curves([("adam", (1, 2), (0, -1))], y_scale="log")],
        r"y must be positive somewhere on a log scale, got none .*; use a linear one",
    ),
    "short rows": (
        [replace(surface([[1, 2]]), x=(1.0,))],
        r"values must be 1 rows \(y\) of 1 \(x\), got 1 of \[2\]",
    ),
    "nothing": (
        [surface([[float("nan")]])],
        r"values must have a finite one, got none",
    ),
}


@pytest.mark.parametrize(("records", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(records, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw(records, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.jpg", "a"])
def test_an_unknown_format_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .*\.pdf, got a"):
        draw([region()], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_text("the old one")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            draw([region()], path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]
    draw([region()], path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_made(tmp_path):
    draw([region()], tmp_path / "figures" / "a.pdf")
    assert (tmp_path / "figures" / "a.pdf").read_bytes().startswith(b"%PDF")


def test_drawing_needs_neither_the_laboratory_nor_torch_nor_pyplot():
    program = (
        "import sys, acprop.report.figures;"
        "loaded = {'acprop.lab', 'torch', 'matplotlib.pyplot'} & set(sys.modules);"
        "sys.exit(', '.join(loaded) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
