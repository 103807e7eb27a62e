"""Many runs at once: none is lost, none is made twice."""

from dataclasses import replace

import pytest

from acprop.bench.execute import execute
from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store

TASK = {
    "dataset": "mnist",
    "net": "mlp",
    "n_train": 512,
    "n_validation": 200,
    "n_test": 200,
}
SPEC = RunSpec("vision", TASK, "acprop", resolved("acprop", {"lr": 1e-3}), 2, 0)
BROKEN = replace(SPEC, settings={"lr": -1.0})
OTHER = replace(SPEC, seed=1)


@pytest.mark.usefixtures("mnist")
def test_one_broken_run_does_not_lose_the_others_and_nothing_is_done_twice(tmp_path):
    heard, ended = {}, []
    outcomes = execute(
        [SPEC, BROKEN, OTHER, SPEC],
        tmp_path,
        study="s",
        jobs=2,
        on_progress=lambda run, share: heard.update({run: share}),
        on_end=ended.append,
    )
    assert [o.spec for o in outcomes] == [SPEC, BROKEN, OTHER]
    assert [o.status for o in outcomes] == ["done", "error", "done"]
    assert "lr must be" in outcomes[1].message
    assert set(heard.values()) == {1.0}
    assert len(ended) == 3
    record = Store(tmp_path).folder(SPEC).record(study="s", scale="smoke")
    assert record.machine["threads"] == 1
    assert record.data["mnist"]["sha256"]

    files = sorted(tmp_path.glob("*/run.json"))
    before = [file.stat().st_mtime_ns for file in files]
    with Store(tmp_path).folder(OTHER).locked():
        again = execute([SPEC, OTHER], tmp_path, jobs=1)
    assert [o.status for o in again] == ["done", "done"]
    assert [file.stat().st_mtime_ns for file in files] == before


@pytest.mark.usefixtures("mnist")
def test_a_run_in_use_elsewhere_is_an_error_that_says_so(tmp_path):
    with Store(tmp_path).folder(SPEC).locked():
        (outcome,) = execute([SPEC], tmp_path, jobs=1)
    assert outcome.status == "error"
    assert "must be free, got one in use by process" in outcome.message
