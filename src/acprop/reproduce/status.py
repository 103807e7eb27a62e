"""`acprop bench status`: how far a study is in a store."""

from pathlib import Path

from acprop import checks
from acprop.bench.status import Status, read_run_list, status_of
from acprop.bench.store import Store
from acprop.records import RULESETS


def study_status(name: str, scale: str, ruleset: str, runs: Path) -> Status:
    """From what the study has requested in this store; planned, if it has not yet."""
    checks.one_of("ruleset", ruleset, RULESETS)
    Store(runs).check()
    wanted = read_run_list(runs, name, scale, ruleset)
    if wanted is None:
        # Here: to plan a study needs torch, which takes seconds to import.
        from acprop.bench.studies import study_folder
        from acprop.reproduce.rulesets import ruleset_of
        from acprop.reproduce.runner import list_runs

        study, rules = study_folder().study(name), ruleset_of(ruleset)
        first = rules.trials(study, scale) or rules.finals(study, scale, {}).runs
        wanted = list_runs(study, scale, rules, [p.spec for p in first])
    return status_of(wanted, runs)
