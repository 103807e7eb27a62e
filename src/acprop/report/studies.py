"""A study's runs: its arms, which of them are shown, and what they are called.

Which arms are shown follows from the study's axes. Arms that differ in one of them are
all shown; of those that differ in anything else, the one that validation prefers, as
`selection.best` says. What the test data say never decides. Where the study was run at
scale "search" too, its winners are shown; where contestants are compared by a ruleset,
every arm.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from acprop import files
from acprop.metrics import is_declared, metric_of
from acprop.plain import Plain, canonical
from acprop.records import BadRecordError, RunRecord, StudyRecord
from acprop.report.selection import TrialResult, best, selection_metric, trial_results
from acprop.report.statistics import (
    Arm,
    arms_of,
    describe,
    is_of_method,
    value_of,
    varying,
)
from acprop.report.style import display
from acprop.report.variants import RULE, corner_words, variant, without_rule

# From the least evidence to the most; a scale of someone's own is more than smoke.
SEARCH = "search"  # the scale at which settings are looked for
SCALES = {SEARCH: 0, "smoke": 1, "small": 3, "paper": 4}


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """A study, those of its runs that have a record, and the same runs as arms.

    trials: the runs by which settings were chosen; they are in no arm.
    is_here: this machine has just run it; else it is evidence from before.
    searched: the settings that the study's search preferred, one for each method.
    """

    study: StudyRecord
    runs: tuple[RunRecord, ...] = ()
    arms: tuple[Arm, ...] = ()
    trials: tuple[RunRecord, ...] = ()
    is_here: bool = False
    searched: tuple[Plain, ...] = ()

    @property
    def key(self) -> str:
        """As a file's name."""
        return f"{self.study.key}-here" if self.is_here else self.study.key

    @property
    def page(self) -> str:
        """The page of all that is known of the study; this is a section of it."""
        return f"study-{files.key_of(self.study.name)}.html"

    @property
    def n_done(self) -> int:
        """How many runs came to a result."""
        return sum(run.status.is_result for run in self.runs)

    @property
    def n_seeds(self) -> int:
        """How many seeds the runs have between them."""
        return len({run.seed for run in self.runs})

    @property
    def weight(self) -> tuple[bool, int, bool, int, bool]:
        """What is shown first of a study.

        The largest scale, then everyone tuned alike, then the most seeds.
        """
        rank = SCALES.get(self.study.scale, SCALES["smoke"] + 1)
        is_tuned = self.study.ruleset == "tuned"
        return bool(self.n_done), rank, is_tuned, self.n_seeds, not self.is_here

    @property
    def metric(self) -> str:
        """The metric to compare by: of the test if there is one, else the first."""
        tests = [name for name in self.study.metrics if name.startswith("test_")]
        return [*tests, *self.study.metrics][0]

    @property
    def lines(self) -> list[Arm]:
        """The arms of a figure: one for each method and value of the axes."""
        return self._shown(self.study.axes)

    @property
    def rows(self) -> list[Arm]:
        """The arms of a table: a heat map shows its axes itself."""
        return self.methods if self.study.shows == "heatmap" else self.lines

    @property
    def methods(self) -> list[Arm]:
        """One arm for each method and task."""
        return self._shown(())

    @property
    def is_searched(self) -> bool:
        """Are its arms those that a search chose?"""
        return bool(self._winners)

    @property
    def _winners(self) -> list[Arm]:
        return [arm for arm in self.arms if arm.settings in self.searched]

    def _shown(self, axes: Sequence[str]) -> list[Arm]:
        if self.study.ruleset != "paper":
            return list(self.arms)
        winners = self._winners
        methods = {arm.method for arm in winners}
        others = [a for a in shown_arms(self.arms, axes) if a.method not in methods]
        kept = {id(arm) for arm in (*winners, *others)}
        return [arm for arm in self.arms if id(arm) in kept]

    @property
    def columns(self) -> list[str]:
        """Settings worth a column: those that differ, and the axes in any case."""
        known = {name for arm in self.arms for name in arm.known}
        names = [*(n for n in self.study.axes if n in known), *varying(self.arms)]
        return list(dict.fromkeys(names))

    @property
    def trial_results(self) -> list[TrialResult]:
        """Every trial of the search, and what became of it."""
        tuning = self.study.tuning
        records = {run.run: run for run in self.trials}
        metric = tuning.get("metric")
        trials = tuning.get("trials", ())
        return trial_results(trials, records, metric) if metric else []

    @property
    def labels(self) -> dict[str, str]:
        """Contestants: acprop convention=authors as ACProp (paper), authors' code.

        What a contestant ran is in its runs; where there is none, in its name.
        """
        runs = {name: list(some) for name, some in self.study.contestants.items()}
        for trial in self.study.tuning.get("trials", ()):
            runs.setdefault(trial["contestant"], []).extend(trial["runs"])
        known = {run.run: run for run in (*self.runs, *self.trials)}
        labels: dict[str, str] = {}
        for name, some in runs.items():
            optimizer, *words = name.split(" ")
            settings = dict(word.split("=", 1) for word in words if "=" in word)
            first = next((known[run] for run in some if run in known), None)
            if optimizer == "corner" and first is not None:
                labels[name] = corner_words(first.settings, settings)
                continue
            which = variant(optimizer, first.settings if first else settings)
            rest = without_rule(optimizer, settings).items()
            labels[name] = ", ".join([display(which), *(f"{k} = {v}" for k, v in rest)])
        return labels

    def names(self, arms: Sequence[Arm]) -> list[str]:
        """The contestant that each arm is of, as a reader sees it; its optimizer."""
        contestants, labels = self.study.contestants.items(), self.labels
        owners = {run: labels[name] for name, runs in contestants for run in runs}
        return [owners.get(a.runs[0].run, display(a.optimizer)) for a in arms]

    def full_names(self, arms: Sequence[Arm], *, bare: bool = False) -> list[str]:
        """Each arm in words that tell it from the others, with what it lost.

        bare: without the optimizer, which a title has.
        """
        names = self.names(arms)
        if not self.study.contestants:
            settings = dict.fromkeys([*self.study.axes, *method_settings(arms)])
            names = [
                describe(arm, settings, bare=bare) or display(arm.optimizer)
                for arm in arms
            ]
        return [", ".join([n, *a.losses]) for n, a in zip(names, arms, strict=True)]


def gather(
    study: StudyRecord,
    runs: Iterable[RunRecord],
    *,
    is_here: bool = False,
    searched: Iterable[Plain] = (),
) -> StudyRuns:
    """The runs that the study names, in its order, as far as there are records.

    Whatever makes no sense is a `BadRecordError`, and nothing else is.
    """
    if not study.metrics:
        raise BadRecordError(f"metrics must be one or more, got none in {study.name}")
    known = {run.run: run for run in runs}
    found = tuple(known[name] for name in dict.fromkeys(study.runs) if name in known)
    for run in found:
        _check_settings(run)
    chosen_by = study.tuning.get("metric")
    for name in (*study.metrics, *filter(None, [chosen_by])):
        _check_metric(name, found)
    for stored in study.declared:
        if is_declared(stored.name) and stored.better != metric_of(stored.name).better:
            raise BadRecordError(
                f"{stored.name} must be better when "
                f"{metric_of(stored.name).better}, got {stored.better}"
            )
    if study.shows == "heatmap" and len(study.axes) != 2:
        raise BadRecordError(
            f"axes must be two settings for a heat map, got {len(study.axes)} "
            f"in {study.name}"
        )
    tried = [run for trial in study.tuning.get("trials", ()) for run in trial["runs"]]
    trials = tuple(known[name] for name in dict.fromkeys(tried) if name in known)
    arms = tuple(arms_of(found))
    return StudyRuns(study, found, arms, trials, is_here, tuple(searched))


def method_settings(arms: Sequence[Arm]) -> list[str]:
    """What tells methods and tasks apart, beside the optimizer's name."""
    return [name for name in varying(arms) if is_of_method(name)]


def shown_arms(arms: Sequence[Arm], axes: Sequence[str]) -> list[Arm]:
    """One arm for each method, task and value of the axes: validation's choice."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        values = [arm.known.get(name) for name in axes]
        groups.setdefault(canonical([arm.method, values]), []).append(arm)
    return [_preferred(group) for group in groups.values()]


def _preferred(group: Sequence[Arm]) -> Arm:
    if len(group) == 1:
        return group[0]
    metric = selection_metric([run for arm in group for run in arm.runs])
    if metric is None and any(arm.done for arm in group):
        raise BadRecordError(
            f"runs must have a validation metric, val_…, to choose among "
            f"{len(group)} settings of {group[0].optimizer}, got none; name the "
            "setting that tells them apart in the study's axes"
        )
    return group[0] if metric is None else best(group, metric)


def _check_metric(name: str, runs: Sequence[RunRecord]) -> None:
    """Refuse one that nobody declared, and percent where a share is declared."""
    try:
        is_share = metric_of(name).unit == "%"
    except ValueError as error:
        raise BadRecordError(str(error)) from error
    for run in runs if is_share else ():
        value = value_of(run, name)
        if value > 1:
            raise BadRecordError(
                f"{name} must be a share in [0, 1], got {value:.6g} in "
                f"{run.study}; record no percent",
                run.run,
            )


def _check_settings(run: RunRecord) -> None:
    """Refuse a run whose settings are not what settings can be.

    A record says only that they are plain; runs are grouped and named by them.
    """
    tables = [run.spec.get(name, {}) for name in ("task_settings", "schedule")]
    betas = [run.settings.get("betas", []), run.study_settings.get("betas", [])]
    rule = [run.settings.get(name) for name in RULE]
    if (
        not all(isinstance(table, dict) for table in tables)
        or not all(isinstance(pair, list) for pair in betas)
        or any(isinstance(value, dict | list) for value in rule)
    ):
        raise BadRecordError(f"settings must be those of a run, got {run.run}", run.run)
    try:
        canonical([run.settings, run.study_settings, run.spec])
    except (OverflowError, ValueError) as error:  # a number that no float can hold
        raise BadRecordError(
            f"settings must be plain values: {error}", run.run
        ) from error
