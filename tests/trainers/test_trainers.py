"""The examples with trainers of others: they learn, and resume to where they would be.

Their packages are in the group `trainers`: `make test-trainers` installs and runs them.
"""

import json
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
MISSING = "needs the group trainers: make test-trainers"

each = pytest.mark.parametrize

# Others warn about others.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def example():
    """The `main` of an example, if the package that it shows is here."""

    def get(package):
        if find_spec(package) is None:
            pytest.skip(MISSING)
        return runpy.run_path(str(ROOT / "examples" / f"with_{package}.py"))["main"]

    return get


@each("package", ["transformers", "accelerate", "lightning"])
def test_a_run_resumed_in_the_middle_ends_as_the_uninterrupted_one(
    example, package, tmp_path
):
    main = example(package)
    whole = [p.detach().clone() for p in main(tmp_path).parameters()]
    # Only the checkpoint of the middle may lead there.
    resumed = list(main(tmp_path, resume=True).parameters())
    assert len(whole) == len(resumed) > 3
    for ours, expected in zip(resumed, whole, strict=True):
        torch.testing.assert_close(ours.detach(), expected, rtol=0, atol=1e-6)


@each("package", ["transformers", "accelerate", "lightning", "timm"])
def test_an_example_has_less_than_60_lines(package):
    text = (ROOT / "examples" / f"with_{package}.py").read_text("utf-8")
    assert len(text.splitlines()) < 60


# ---- timm ----------------------------------------------------------------------------


def run(script, *words):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("timm_here.py"), script, *words],
        capture_output=True,
        text=True,
    )
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_timm_knows_the_family_by_name():
    found = json.loads(run("registry"))
    ours = ["acprop", "acprop-adabelief", "acprop-adam", "adashift", "acprop-rmsprop"]
    assert found["names"] == found["again"] == ours
    assert found["logged"] == []
    assert found["class"] == "acprop.optim.optimizers.ACProp"
    assert found["betas"] == [0.8, 0.9]
    assert found["lookahead"] == "Lookahead"
    # timm's own layer-wise decay and no_weight_decay() reach the groups
    assert found["scales"] == sorted(found["scales"])
    assert len(found["scales"]) > 2
    assert found["decays"] == [0.0, 0.05]


def test_a_timm_style_loop_resumes_in_the_middle(tmp_path):
    """As timm's train script is started: the optimizer by name, from acprop.timm."""
    words = ["--opt", "acprop", "--layer-decay", "0.75", "--lr", "1e-2", str(tmp_path)]
    run("loop", *words)
    whole = torch.load(tmp_path / "2.pt", weights_only=True)
    (tmp_path / "2.pt").unlink()
    run("loop", *words, "--resume", str(tmp_path / "0.pt"))
    again = torch.load(tmp_path / "2.pt", weights_only=True)
    for name, value in whole["state_dict"].items():
        torch.testing.assert_close(again["state_dict"][name], value, rtol=0, atol=1e-6)
