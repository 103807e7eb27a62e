"""`acprop bench status`: how far a study is in a store."""

from pathlib import Path

from acprop import checks
from acprop.bench import rosters
from acprop.bench.status import Status, status_of
from acprop.bench.store import Store
from acprop.records import RULESETS


def study_status(name: str, scale: str, ruleset: str, runs: Path) -> Status:
    """From what the study has asked for in this store; planned, if it has not yet."""
    checks.one_of("ruleset", ruleset, RULESETS)
    Store(runs).check()
    roster = rosters.read(runs, name, scale, ruleset)
    if roster is None:
        # Here: to plan a study needs torch, which takes seconds to import.
        from acprop.bench.studies import study_folder
        from acprop.reproduce.studies import roster_of

        study = study_folder().study(name)
        study.scale(scale)
        if ruleset != "paper":
            raise ValueError(
                f"study must have been begun in {runs} by the ruleset {ruleset}, got "
                f"{name}, which was not; acprop bench study {name} --ruleset {ruleset} "
                "--dry-run prints what it would run"
            )
        roster = roster_of(study, scale, ruleset, study.planned(scale))
    return status_of(roster, runs)
