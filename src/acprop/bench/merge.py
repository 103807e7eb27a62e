"""Stores of several machines into one: a result beats none, and nothing is lost.

What is read stays as it is, so whatever was not taken can still be looked at. To merge
the same stores again changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acprop import checks, files
from acprop.bench.conditions import in_words, ran_under
from acprop.bench.locks import RunInUseError
from acprop.bench.run_files import DamagedError
from acprop.bench.spec import from_plain
from acprop.bench.store import RunFolder, Store
from acprop.plain import Plain


@dataclass(slots=True)
class Merged:
    """What became of the runs that were read.

    new        were not there
    better     were there with less: without a result, or with fewer epochs
    known      were there with as much
    conflicts  have another result under the same conditions; what was there is kept
    unlike     have another result under others, or under several: of the known
    problems   could not be read, or are in use
    """

    new: int = 0
    better: int = 0
    known: int = 0
    conflicts: list[str] = field(default_factory=list[str])
    unlike: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])


def merge(
    sources: Sequence[Path], into: Path, *, on_run: Callable[[], None] | None = None
) -> Merged:
    """Copy what `into` lacks. on_run: called for each run that was looked at."""
    for source in sources:
        if not source.is_dir():
            raise checks.UserError(f"a store must be a folder of runs, got {source}")
        if source.resolve() == into.resolve():
            raise checks.UserError(
                f"into must be another store than {source}, got the same"
            )
        Store(source).check()
    files.check_folder("into", into)
    target = Store(into)
    target.prepare()
    merged = Merged()
    for source in sources:
        for folder in Store(source).folders():
            try:
                _merge(folder, RunFolder(into / folder.path.name), merged)
            except (DamagedError, RunInUseError) as error:
                merged.problems.append(f"{source}: {error}")
            if on_run is not None:
                on_run()
    return merged


def _merge(source: RunFolder, target: RunFolder, merged: Merged) -> None:
    if not (source.path / "run.json").exists():
        return  # never begun
    theirs = _read(source)
    ours = _read(target) if (target.path / "run.json").exists() else None
    if ours is None:
        _copy(source, target)
        merged.new += 1
    elif _rank(theirs) > _rank(ours):
        _copy(source, target)
        merged.better += 1
    elif _is_result(theirs) and _outcome(theirs) != _outcome(ours):
        line = (
            f"{source.path.parent}: run {source.path.name} ended as "
            f"{_in_words(theirs)}, in {target.path.parent} as {_in_words(ours)}"
        )
        if _are_alike(theirs, ours):
            merged.conflicts.append(line)
        else:
            merged.known += 1
            merged.unlike.append(line)
    else:
        merged.known += 1


@dataclass(frozen=True, slots=True)
class _Known:
    folder: RunFolder
    plain: Plain
    n_epochs: int


def _read(folder: RunFolder) -> _Known:
    """A run whose files are whole, and that is the one its folder's name says."""
    status, plain = folder.status(), folder.read()
    run = from_plain(plain["spec"]).id
    if run != folder.path.name:
        raise DamagedError(
            f"{folder.path} must be named by its spec, {run}, got another name"
        )
    return _Known(folder, {**plain, "status": status}, len(folder.metrics()))


def _is_result(known: _Known) -> bool:
    return known.plain["status"].is_result


def _rank(known: _Known) -> tuple[bool, int]:
    """A result goes before none, and of two without one, the longer."""
    return _is_result(known), 0 if _is_result(known) else known.n_epochs


def _outcome(known: _Known) -> tuple[str, str | None]:
    return known.plain["status"], known.plain.get("final", {}).get("state_sha256")


def _are_alike(one: _Known, other: _Known) -> bool:
    """Should they have ended in the same bits?

    Not if one of them changed its conditions on the way: nobody knows at which step.
    """
    first, second = ran_under(one.plain), ran_under(other.plain)
    return len(first) == 1 and first == second


def _in_words(known: _Known) -> str:
    status, state = _outcome(known)
    under = in_words(*ran_under(known.plain))
    return f"{status} with state {(state or 'unknown')[:12]} under {under}"


def _copy(source: RunFolder, target: RunFolder) -> None:
    """Whole files, run.json last; not while somebody works on either."""
    if source.holder() is not None:
        raise RunInUseError(f"run {source.path.name} is in use; merge again later")
    with target.locked():
        target.copy_from(source)
