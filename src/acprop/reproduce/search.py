"""Trials on Sobol points: all to the end, or as far as a budget carries them."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acprop import files
from acprop.bench.designs import SOBOL, sobol
from acprop.bench.rulesets import Trial
from acprop.plain import Plain, canonical
from acprop.report.selection import leaders
from acprop.reproduce.contest import Contest
from acprop.reproduce.halving import Ladder, Pace, Rung, left_out

FOLDER = "tuning"  # in the store, beside the runs


@dataclass(frozen=True, slots=True)
class Searched:
    """trials: all that were begun. design: which points, with their version."""

    trials: tuple[Trial, ...]
    design: str
    ladder: Ladder
    left_out: tuple[str, ...] = ()


def sobol_trials(contest: Contest, n_trials: int) -> list[Trial]:
    """The same points for every contestant."""
    return [
        Trial(who.name, number, who.space.point(point))
        for number, point in enumerate(sobol(n_trials))
        for who in contest.contestants
    ]


def search(contest: Contest) -> Searched:
    """Every trial to its end."""
    trials = sobol_trials(contest, contest.n_trials)
    runs = [run for trial in trials for run in contest.trial_runs(trial)]
    contest.runner([run.spec for run in runs])
    ladder = (Rung(contest.epochs, contest.n_trials),)
    return Searched(tuple(trials), SOBOL, ladder)


def climb(contest: Contest, ladder: Ladder, budget: float, pace: Pace) -> Searched:
    """Trials by halving, within the seconds that are left for the search.

    Runs that turn out slower than was estimated make the next rungs narrower. What was
    decided is written down: begun again, the search goes on with the same ladder.
    """
    ledger = _Ledger(contest, ladder, budget)
    ladder = ledger.ladder
    everyone = sobol_trials(contest, ladder[0].trials)
    going = list(everyone)
    for i, rung in enumerate(ladder):
        started = time.monotonic()
        runs = [run for trial in going for run in contest.trial_runs(trial)]
        last = rung.epochs == contest.epochs
        contest.runner(
            [run.spec for run in runs], until_epoch=None if last else rung.epochs
        )
        if last:
            break
        if not ledger.has_decided(i):
            took = time.monotonic() - started
            slower = max(1.0, took / _cost(pace, ladder, i, i + 1))
            left = budget - ledger.spent - took
            narrow = _narrowed(ladder, i, pace, left / slower)
            ladder = ledger.decide(i, took, narrow)
        going = _best(contest, going, rung.epochs, ladder[i + 1].trials)
    words = left_out(ladder, contest.n_trials, contest.epochs, len(contest.contestants))
    return Searched(tuple(everyone), SOBOL, ladder, tuple(words))


def _narrowed(ladder: Ladder, i: int, pace: Pace, left: float) -> Ladder:
    """The same ladder, narrower above rung i where it would take more than is left."""
    while _cost(pace, ladder, i + 1, len(ladder)) > left and ladder[i + 1].trials > 1:
        above = [replace(r, trials=max(1, r.trials // 2)) for r in ladder[i + 1 :]]
        ladder = (*ladder[: i + 1], *above)
    return ladder


def _cost(pace: Pace, ladder: Ladder, first: int, last: int) -> float:
    """Seconds of the rungs from the first to before the last."""
    return pace.seconds(ladder[:last]) - pace.seconds(ladder[:first])


def _best(contest: Contest, going: Sequence[Trial], epoch: int, n: int) -> list[Trial]:
    """The n best trials of every contestant at this epoch; failed ones are not."""
    metric, results = contest.results(going, epoch=epoch)
    kept: set[tuple[str, int]] = set()
    for who in contest.contestants:
        own = [result for result in results if result.contestant == who.name]
        kept |= {(who.name, r.number) for r in leaders(own, metric, n)}
    return [trial for trial in going if (trial.contestant, trial.number) in kept]


class _Ledger:
    """What was decided and spent, in a file of the store."""

    def __init__(self, contest: Contest, ladder: Ladder, budget: float) -> None:
        asked = {**search_key(contest), "budget": budget}
        self.path = ledger_path(contest, asked)
        known: Plain = {}
        if self.path.exists():
            known = json.loads(self.path.read_text("utf-8"))
        rungs = known.get("ladder", [[r.epochs, r.trials] for r in ladder])
        self.ladder: Ladder = tuple(Rung(*rung) for rung in rungs)
        self.spent: float = known.get("spent", 0.0)
        self.decided: int = known.get("decided", 0)
        self.asked = asked
        if not known:
            self._write()

    def has_decided(self, i: int) -> bool:
        """Is it known how many go on after rung i?"""
        return i < self.decided

    def decide(self, i: int, took: float, ladder: Ladder) -> Ladder:
        """Write down how wide the rungs above i are, and what rung i took."""
        self.ladder, self.decided = ladder, i + 1
        self.spent += took
        self._write()
        return ladder

    def _write(self) -> None:
        text = {
            "asked": self.asked,
            "ladder": [[rung.epochs, rung.trials] for rung in self.ladder],
            "decided": self.decided,
            "spent": self.spent,
        }
        files.write(self.path, json.dumps(text, indent=1) + "\n")


def search_key(contest: Contest) -> Plain:
    """What makes two searches the same one."""
    return {
        "study": contest.study.name,
        "scale": contest.scale,
        "space": contest.spaces.digest,
        "seeds": contest.tuning_seeds,
        "trials": contest.n_trials,
        "contestants": [who.name for who in contest.contestants],
        "epochs": contest.epochs,
        "task": {
            **contest.study.task_settings,
            **contest.study.scale(contest.scale).task_settings,
        },
    }


def ledger_path(contest: Contest, asked: Plain, end: str = "json") -> Path:
    """A name that a person can tell, and a hash of what was asked."""
    digest = hashlib.sha256(canonical(asked).encode()).hexdigest()[:8]
    name = contest.study.name.replace("/", "-")
    return contest.runs / FOLDER / f"{name}-{contest.scale}-{digest}.{end}"
