"""SECURITY.md promises what is tested."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text("utf-8").split("## What we promise")[1]
PROMISES = re.findall(r"^- \*\*.*?(?=^- \*\*|^\S|\Z)", PAGE, re.MULTILINE | re.DOTALL)


def test_every_promise_names_a_test_that_exists():
    tests = "\n".join(f.read_text("utf-8") for f in (ROOT / "tests").rglob("test_*.py"))
    known = set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))
    assert len(PROMISES) == len(re.findall(r"^- ", PAGE, re.MULTILINE)) > 5
    for promise in PROMISES:
        named = set(re.findall(r"`(test_\w+)`", promise))
        assert named, promise
        assert named <= known


STEP = """
import sys
def refuse(event, values):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo"):
        raise SystemExit(f"{event} {values}")
sys.addaudithook(refuse)
import torch, acprop
p = torch.nn.Parameter(torch.ones(3))
opt = acprop.ACProp([p])
p.square().sum().backward()
opt.step()
"""


def test_the_optimizer_opens_no_connection():
    done = subprocess.run(
        [sys.executable, "-c", STEP], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
