"""A study's result: each arm that is shown beside its reference, and one line of words.

Who is better is taken from `comparisons.compare_pairs`, which sees all comparisons of a
study at once. They are with ACProp (default), else another ACProp, else the first; seed
by seed, on the same task, and at the same place of the study's axes or, where a search
has chosen a place for each method, at that.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from acprop.metrics import metric_of
from acprop.report.comparisons import FEWEST, Comparison, compare_pairs
from acprop.report.statistics import Arm, describe, varying
from acprop.report.studies import SEARCH, StudyRuns, method_settings
from acprop.report.variants import first_of

Badge = Literal["holds", "fails", "undecided", "none"]
MANY = 8  # names: more are counted


class ComparedArm(NamedTuple):
    """comparison: with the reference; None for a reference, or where there is none."""

    arm: Arm
    name: str
    reference: str | None
    comparison: Comparison | None


class ResultLine(NamedTuple):
    """A study's result in one or two words, as a colour, and in one sentence."""

    word: str
    badge: Badge
    text: str


def compared_arms(found: StudyRuns) -> list[ComparedArm]:
    """Every arm that is shown, all comparisons as one family."""
    arms = found.rows
    names, references = arm_names(found, arms), _references(found, arms)
    beside = list(zip(arms, references, strict=True))
    pairs = [(a, r) for a, r in beside if r is not None and r is not a]
    made = iter(compare_pairs(pairs, found.metric))
    named = {id(arm): name for arm, name in zip(arms, names, strict=True)}
    return [
        ComparedArm(
            arm,
            named[id(arm)],
            named[id(reference)] if reference else None,
            None if reference is None or reference is arm else next(made),
        )
        for arm, reference in beside
    ]


def arm_names(found: StudyRuns, arms: Sequence[Arm]) -> list[str]:
    """Each by its method, with the settings that tell it from others of that name."""
    plain = found.names(arms)
    names: list[str] = []
    for arm, name in zip(arms, plain, strict=True):
        alike = [a for a, other in zip(arms, plain, strict=True) if other == name]
        settings = describe(arm, _telling(alike), bare=True)
        names.append(", ".join(filter(None, [name, settings])))
    return names


def _telling(arms: Sequence[Arm]) -> list[str]:
    """The settings that tell arms apart: those that make another method, if enough."""
    few, many = method_settings(arms), varying(arms)
    return few if len({describe(arm, few) for arm in arms}) == len(arms) else many


def result_line(found: StudyRuns, compared: Sequence[ComparedArm]) -> ResultLine:
    """What the comparisons say of the reference; nobody wins by a smoke test."""
    scale = found.study.scale
    if not found.n_done:
        return ResultLine("no result", "none", "No run has a result.")
    if scale == SEARCH:
        text = "A search: it chooses settings, and ranks nobody."
        return ResultLine("a search", "none", text)
    if scale == "smoke":
        text = "Smoke scale shows that it runs, not who wins."
        return ResultLine("not ranked", "none", text)
    others = [one for one in compared if one.comparison and one.comparison.difference.n]
    if not others:
        text = "Nobody here is compared with another."
        return ResultLine("not compared", "none", text)
    seeds = [c.comparison.difference.n for c in others if c.comparison]
    if max(seeds) < FEWEST:
        text = f"Fewer than {FEWEST} seeds finished in both: nobody is called better."
        return ResultLine("not ranked", "none", text)
    how_many = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else seeds[0]
    about = f"{metric_of(found.metric).words}, {how_many} seeds"
    return _line(others, about)


def _line(others: Sequence[ComparedArm], about: str) -> ResultLine:
    groups: dict[str, list[str]] = {"worse": [], "better": [], "": []}
    for one in others:
        words = one.comparison.words if one.comparison else ""
        groups[words if words in groups else ""].append(_bracketed(one.name))
    behind, ahead, level = groups.values()
    references = list(dict.fromkeys(one.reference for one in others))
    if len(references) > 1:
        text = (
            f"{len(others)} comparisons at {len(references)} places: "
            f"{_short(references)} better in {len(behind)}, worse in {len(ahead)}, no "
            f"difference shown in {len(level)}"
        )
    else:
        sides = [("better", behind), ("worse", ahead)]
        parts = [f"{word} than {listed(names)}" for word, names in sides if names]
        text = f"{references[0]} is {', '.join(parts)}" if parts else ""
        if level:
            same = f"no difference to {listed(level)} is shown"
            other = (
                f"No difference between {references[0]} and {listed(level)} is shown"
            )
            text = f"{text}; {same}" if text else other
    word, badge = _word(bool(behind), bool(ahead))
    return ResultLine(word, badge, f"{text} ({about}).")


def _word(is_better: bool, is_worse: bool) -> tuple[str, Badge]:
    if is_better and is_worse:
        return "better and worse", "undecided"
    if is_better:
        return "better", "holds"
    return ("worse", "fails") if is_worse else ("no difference shown", "undecided")


def _short(names: Sequence[str | None]) -> str:
    """What names of one method at several places begin with."""
    return str(names[0]).partition(", ")[0]


def _bracketed(name: str) -> str:
    """A name without commas, for a list: "NAdam, lr = 1" is NAdam (lr = 1) there."""
    method, comma, settings = name.partition(", ")
    if not comma:
        return name
    is_open = method.endswith(")")
    return f"{method[:-1]}, {settings})" if is_open else f"{method} ({settings})"


def listed(names: Sequence[str]) -> str:
    """A, B and C; of many, how many."""
    if len(names) > MANY:
        return f"{len(names)} others"
    some = [", ".join(names[:-1]), names[-1]] if names[1:] else names
    return " and ".join(some)


def _references(found: StudyRuns, arms: Sequence[Arm]) -> list[Arm | None]:
    """With which arm each is compared; a reference is so with itself."""
    if not arms:
        return []
    first = first_of(arm.optimizer for arm in arms) or arms[0].optimizer
    is_placed = found.study.shows != "heatmap" and not found.is_searched
    axes = found.study.axes if is_placed else ()

    def place(arm: Arm) -> tuple[object, ...]:
        return arm.conditions, [arm.known.get(name) for name in axes]

    def reference(arm: Arm) -> Arm | None:
        alike = [a for a in arms if a.optimizer == first and place(a) == place(arm)]
        is_clear = len(alike) == 1 or bool(found.study.contestants and alike)
        return alike[0] if is_clear else None

    return [reference(arm) for arm in arms]
