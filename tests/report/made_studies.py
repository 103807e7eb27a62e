"""Studies of the repository as if they had been run at the scale that decides."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from acprop.bench.studies import study_folder
from acprop.records import RunRecord, RunStatus
from acprop.report.studies import gather
from acprop.reproduce.rulesets import ruleset_of

ROOT = Path(__file__).parents[2]
SHELF = study_folder(ROOT / "studies")


@cache
def planned(name, ruleset):
    """What the study plans; any trial may win here."""
    study = SHELF.study(name)
    if ruleset == "paper":
        return study, tuple(study.planned("small"))
    rules = ruleset_of(ruleset)
    first = {
        candidate.name: settings[0]
        for candidate, settings in rules.points(study, "small")
    }
    who = rules.candidates(study, "small")
    seeds = study.scale("small").seeds
    runs = [r for c in who for r in c.runs(study, "small", first[c.name], seeds)]
    return study, tuple(runs)


def study_as_run(name, ruleset, metric, entry):
    """All its final runs. entry: from a run's spec to what every epoch measured."""
    study, plans = planned(name, ruleset)
    records = []
    for plan in plans:
        spec, seen = plan.spec, entry(plan.spec)
        records.append(
            RunRecord(
                run=spec.id, study=name, optimizer=spec.optimizer,
                settings=spec.settings,
                study_settings=plan.study_settings, seed=spec.seed, scale="small",
                spec=spec.plain(), status=RunStatus.DONE, history=(seen,) * 20,
                final=seen, wall_seconds=1.0, commit="abc", machine={}, data={},
                ruleset=ruleset,
            )
        )  # fmt: skip
    about = study.record("small", [r.run for r in records], [])
    return gather(replace(about, ruleset=ruleset, metrics=(metric,)), records)
