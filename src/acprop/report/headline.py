"""What the start page says first: the default against AdamW, and what stands.

Every sentence is made from records. One about a claim in words of ours is shown only
while the records have the verdict that it reports.

How much better the default is, in percent of what AdamW has, so that tasks fit on one
axis: of its error 1 - y for a share y, of y for a loss, a distance or a score. Who is
better is taken from the study's own comparison, corrected with all others of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acprop.metrics import metric_of
from acprop.records import Verdict
from acprop.report.claim_groups import Owner
from acprop.report.comparisons import FEWEST
from acprop.report.results import ComparedArm, listed
from acprop.report.statistics import Summary, over_seeds
from acprop.report.study_pages import StudySection, replaced_by
from acprop.report.style import display
from acprop.report.words import difference_words

OURS, RIVAL = "acprop", "adamw"
ENDS = (1, 2, 5, 10, 20, 30, 40, 50, 75, 100)  # of an axis, in percent
FLIPPED = {"better": "worse", "worse": "better"}
# In plain words, and the verdicts that must be recorded for that.
STATEMENTS = (
    (
        "The paper’s centre stands: on its counterexample ACProp converges for all "
        "betas, where Adam fails for every β2 at some period, and the step of an "
        "asynchronous method is unbiased.",
        {"lemma-3.3": "holds", "lemma-3.1": "holds", "async-step-is-unbiased": "holds"},
    ),
    (
        "Both convergence theorems fail as printed; each holds with other constants, "
        "which stand beside the printed ones.",
        {
            "theorem-4.1-as-printed": "fails",
            "theorem-4.1-corrected": "holds",
            "momentum-theorem-as-printed": "fails",
            "momentum-theorem-corrected": "holds",
        },
    ),
)


class Headline(NamedTuple):
    """A sentence, and the page that has its evidence."""

    text: str
    page: str


@dataclass(frozen=True, slots=True)
class Effect:
    """How much better the default is than AdamW on one task.

    mean, low, high: in percent of AdamW's. words: in the metric's own unit.
    """

    title: str
    page: str
    metric: str
    mean: float
    low: float
    high: float
    words: str
    verdict: str
    n: int


def effects(pages: Mapping[str, Sequence[StudySection]]) -> list[Effect]:
    """One for each study in which both ran on five seeds; the largest first."""
    found: list[Effect] = []
    for sections in _current(pages):
        made = (_effect(s, one) for s in sections if s.is_ranked for one in s.compared)
        first = next(filter(None, made), None)
        found += [first] if first else []
    return sorted(found, key=lambda effect: -effect.mean)


def _current(
    pages: Mapping[str, Sequence[StudySection]],
) -> Iterator[Sequence[StudySection]]:
    """Those of studies whose place no other one has taken."""
    replaced = replaced_by(pages)
    for sections in pages.values():
        if sections[0].record.name not in replaced:
            yield sections


def reach(found: Sequence[Effect]) -> int:
    """Where an axis for all of them ends, in percent, on both sides."""
    most = max((max(abs(e.low), abs(e.high)) for e in found), default=1.0)
    return next((end for end in ENDS if end >= most), ENDS[-1])


def findings(
    found: Sequence[Effect],
    pages: Mapping[str, Sequence[StudySection]],
    owners: Sequence[Owner],
    claims: Mapping[str, Verdict],
) -> list[Headline]:
    """Three to five sentences, as far as there are records."""
    made = [*_against(found), *_beaten(pages), *_counted(owners)]
    for text, needed in STATEMENTS:
        known = {name: claims[name].verdict for name in needed if name in claims}
        if known == needed:
            made.append(Headline(text, f"claims.html#claim-{next(iter(needed))}"))
    return made


def _effect(section: StudySection, one: ComparedArm) -> Effect | None:
    """None unless it is AdamW, compared with the default."""
    ours = next((c.arm for c in section.compared if c.arm.optimizer == OURS), None)
    seen = one.comparison.difference if one.comparison else None
    if one.arm.optimizer != RIVAL or ours is None or one.comparison is None:
        return None
    metric = metric_of(section.found.metric)
    mean = over_seeds(one.arm, metric.name).mean
    whole = 1 - mean if metric.unit == "%" and metric.sign > 0 else abs(mean)
    if seen is None or seen.n < FEWEST or not whole > 0:
        return None
    # From AdamW less the default to the default less AdamW, then higher is better.
    less = Summary(seen.n, 0 - seen.mean, seen.std, 0 - seen.high, 0 - seen.low)
    ends = [metric.sign * 100 * v / whole for v in (less.low, less.high)]
    return Effect(
        section.record.title.partition(": ")[0],
        f"{section.found.page}#{section.found.key}",
        metric.label,
        metric.sign * 100 * less.mean / whole,
        min(ends),
        max(ends),
        difference_words(less, metric.name),
        FLIPPED.get(one.comparison.words, "no difference shown"),
        seen.n,
    )


def _against(found: Sequence[Effect]) -> list[Headline]:
    if not found:
        return []
    named = {
        word: [e.title for e in found if e.verdict == word]
        for word in ("better", "worse", "no difference shown")
    }
    better, worse, level = named.values()
    tasks = f"{len(found)} tasks" if len(found) > 1 else "one task"
    text = (
        f"{display(OURS)} against {display(RIVAL)} on {tasks}, five seeds or more "
        f"each: better on {_count(better)}, worse on {_count(worse)}, no difference "
        f"shown on {len(level) or 'none'}."
    )
    return [Headline(text, "#against")]


def _count(titles: Sequence[str]) -> str:
    return f"{len(titles)} ({listed(titles)})" if titles else "none"


def _beaten(pages: Mapping[str, Sequence[StudySection]]) -> list[Headline]:
    """Who is better than the default, and where; studies may share runs."""
    where: dict[str, list[str]] = {}
    others: set[str] = set()
    counted: set[frozenset[str]] = set()
    for sections in _current(pages):
        for section in [s for s in sections if s.is_ranked][:1]:
            if not any(one.arm.optimizer == OURS for one in section.compared):
                continue
            for one in section.compared:
                if one.comparison is None or one.comparison.difference.n < FEWEST:
                    continue
                others.add(one.arm.optimizer)
                runs = frozenset(run.run for run in one.arm.runs)
                if one.comparison.words == "better" and runs not in counted:
                    counted.add(runs)
                    title = section.record.title.partition(": ")[0]
                    where.setdefault(display(one.arm.optimizer), []).append(title)
    if not others:
        return []
    parts = [f"{name} ({listed(titles)})" for name, titles in where.items()]
    methods = f"{len(others)} {'methods were' if len(others) > 1 else 'method was'}"
    beat = f"Better on some task: {listed(parts)}" if parts else "None was better"
    return [Headline(f"{methods} compared with it. {beat}.", "studies.html")]


def _counted(owners: Sequence[Owner]) -> list[Headline]:
    """Of the paper's claims, how many hold; those about training apart."""
    made: list[Headline] = []
    for group in (group for group in owners if group.owner == "paper"):
        kinds = {kind.kind: kind.counts for kind in group.kinds}
        text = f"Of the paper’s {_tally(group.counts, 'statements of theory')}"
        if "central" in kinds:
            n = kinds["central"]["fails"]
            text += f"; of its central results {n or 'none'} fail{'' if n > 1 else 's'}"
        if "empirical" in kinds:
            text += f". Of its {_tally(kinds['empirical'], 'sentences about training')}"
            text += ", at the scale that was run"
        made.append(Headline(f"{text}.", "claims.html#paper"))
    return made


def _tally(counts: Mapping[str, int], what: str) -> str:
    holds, fails, open_ = (counts[word] for word in ("holds", "fails", "undecided"))
    return (
        f"{holds + fails + open_} {what} {holds} hold{_s(holds)}, {fails} "
        f"fail{_s(fails)} and {open_} stay{_s(open_)} undecided"
    )


def _s(n: int) -> str:
    """One holds, two hold."""
    return "s" if n == 1 else ""
