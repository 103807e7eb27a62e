"""Adaptive trials: Optuna's tree-structured Parzen estimator asks, the store answers.

One Optuna study for each contestant, kept in a journal beside the runs or in a database
that several machines share. A trial's runs are ordinary runs of the store: interrupted,
they go on; a trial that was asked and not yet told is told when they are done, once.
Each ask has a sampler of its own, seeded by the trial's number, so that a search that
was interrupted asks what it would have asked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from acprop.bench.rulesets import Contestant, Trial
from acprop.metrics import metric_of
from acprop.plain import canonical
from acprop.report.selection import TrialResult
from acprop.reproduce.contest import Contest
from acprop.reproduce.halving import Rung
from acprop.reproduce.search import Searched, ledger_path, search_key

DESIGN = "tpe-1"
_SEED = 2021
_OPEN = (TrialState.RUNNING, TrialState.WAITING)


def search(contest: Contest, storage: str | None) -> Searched:
    """Ask and tell until every contestant has had its trials.

    storage: a database's url; None is a journal beside the runs.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kept = _storage(contest, storage)
    searches = [_Search(contest, who, kept) for who in contest.contestants]
    while asked := [trial for one in searches if (trial := one.ask()) is not None]:
        runs = [run for trial in asked for run in contest.trial_runs(trial)]
        contest.runner([run.spec for run in runs])
        metric, results = contest.results(asked)
        told = {result.contestant: result for result in results}
        for one in searches:
            if one.who.name in told:
                one.tell(told[one.who.name], metric)
    trials = [trial for one in searches for trial in one.trials()]
    ladder = (Rung(contest.epochs, contest.n_trials),)
    return Searched(tuple(trials), DESIGN, ladder)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search of one contestant."""

    contest: Contest
    who: Contestant
    storage: BaseStorage

    @property
    def study(self) -> optuna.Study:
        """Optuna's study, with the sampler of its next trial."""
        name = canonical({**search_key(self.contest), "contestant": self.who.name})
        made = optuna.create_study(
            study_name=name,
            storage=self.storage,
            direction="maximize",
            load_if_exists=True,
        )
        n = len(made.get_trials(deepcopy=False))
        made.sampler = optuna.samplers.TPESampler(
            seed=_SEED + n, n_startup_trials=max(2, self.contest.n_trials // 4)
        )
        return made

    def ask(self) -> Trial | None:
        """A trial that was asked and not told, or a new one; None is enough of them."""
        study = self.study
        known = study.get_trials(deepcopy=False)
        for frozen in known:
            if frozen.state in _OPEN:
                return self._trial(frozen.number, frozen.params)
        if len(known) >= self.contest.n_trials:
            return None
        made = study.ask(self._ranges())
        return self._trial(made.number, made.params)

    def tell(self, result: TrialResult, metric: str) -> None:
        """Once: what another process has told already is left as it is."""
        sign = metric_of(metric).sign
        is_value = result.is_finished and math.isfinite(result.value)
        # A failed trial is one that the sampler should stay away from: pruned, and so
        # ranked below all others. A "failed" one it would forget, and ask for again.
        said: dict[str, Any] = (
            {"values": sign * result.value}
            if is_value
            else {"state": TrialState.PRUNED}
        )
        self.study.tell(result.number, **said, skip_if_finished=True)

    def trials(self) -> Sequence[Trial]:
        """All that were asked, in their order."""
        known: list[FrozenTrial] = self.study.get_trials(deepcopy=False)
        return [self._trial(frozen.number, frozen.params) for frozen in known]

    def _ranges(self) -> dict[str, BaseDistribution]:
        return {
            name: FloatDistribution(low, high, log=True)
            for name, (low, high) in self.who.space.ranges.items()
        }

    def _trial(self, number: int, drawn: dict[str, Any]) -> Trial:
        # in the order of the space: Optuna keeps names sorted in some storages
        values = {name: drawn[name] for name in self.who.space.ranges}
        return Trial(self.who.name, number, self.who.space.settings(values))


def _storage(contest: Contest, url: str | None) -> BaseStorage:
    if url is not None:
        try:
            return RDBStorage(url)
        except Exception as error:  # SQLAlchemy's and each driver's own
            raise ValueError(
                f"storage must be the url of a database, such as sqlite:///FILE or "
                f"postgresql://HOST/NAME, got {url!r}; {str(error).splitlines()[0]}"
            ) from error
    path = ledger_path(contest, search_key(contest), "journal")
    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalStorage(JournalFileBackend(str(path)))
