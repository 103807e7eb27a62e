"""Questions of our own about training, decided by the rules of docs/evidence.md.

They stand in its sections 6, 7 and 9, written before the runs. The factorial says what
ACProp is made of; the corners of it that have names say why others lead.
"""

from acprop.report.evidence import (
    PUBLISHED,
    Answer,
    Arena,
    Decision,
    Evidence,
    Register,
    attempt,
    outperforms,
    together,
)
from acprop.report.factorial import FactorEffect, main_effects
from acprop.report.sentences import RAW, early
from acprop.report.statistics import Arm
from acprop.report.words import difference_words

register = Register("ours")
TASKS = ("gpt-bytes", "vgg-batchnorm", "vgg-plain")
SECTION_6, SECTION_7, SECTION_9 = (f"docs/evidence.md, section {i}" for i in (6, 7, 9))
SHOWN_ON = 2  # tasks of three
ADOPT = {"centered": False, "delay": 1, "average": "after", "nesterov": False}
ADAM = {"centered": False, "delay": 0, "average": "before", "nesterov": False}


@register(
    "default-on-longer-runs",
    SECTION_6,
    "the default trains the GPT better than AdamW, on two texts, at four times the "
    "length at which it was chosen",
)
def default_on_longer_runs(evidence: Evidence) -> Decision:
    def one(text: str) -> Decision:
        arena = evidence.study(f"language/{text}", "tuned")
        return outperforms(arena, arena.arm("acprop"), [arena.arm("adamw")])

    return together(attempt(one, text) for text in ("gpt-bytes", "gpt-code"))


@register("centering-matters", SECTION_7, "centering matters")
def centering_matters(evidence: Evidence) -> Decision:
    return _matters(evidence, "centering")


@register("asynchrony-matters", SECTION_7, "asynchrony matters")
def asynchrony_matters(evidence: Evidence) -> Decision:
    return _matters(evidence, "delay")


def _matters(evidence: Evidence, factor: str) -> Decision:
    """Shown on two tasks of three; a factor that is not shown may still matter."""
    parts = [attempt(_shown, evidence, task, factor) for task in TASKS]
    n_shown = sum(part.answer == "holds" for part in parts)
    answer: Answer = "holds" if n_shown >= SHOWN_ON else "undecided"
    return Decision(answer, ". ".join(part.words for part in parts))


def _shown(evidence: Evidence, task: str, factor: str) -> Decision:
    found = evidence.study(f"factorial/{task}", "tuned").found
    effects = main_effects(found)
    (own,) = [effect for effect in effects if effect.name == factor]
    largest = max(effects, key=_clarity)
    words = (
        f"{found.study.name}: {own.words}, {'shown' if own.is_shown else 'not shown'}; "
        f"the largest is {largest.name} {largest.words}"
    )
    return Decision("holds" if own.is_shown else "undecided", words)


def _clarity(effect: FactorEffect) -> float:
    """The effect relative to the residual's deviation, as far as order goes."""
    return abs(effect.mean) / (effect.high - effect.low)


@register("adopt-leads-by-beta2", SECTION_7, "ADOPT's lead on the GPT is its β2")
def adopt_leads_by_beta2(evidence: Evidence) -> Decision:
    """Adam's rule at that β2 is not worse."""
    arena, adopt = _adopt(evidence)
    adam = arena.arm("corner", **ADAM, beta2=0.9999)
    word, words = _beside(arena, adam, adopt, "Adam's rule at β2 = 0.9999", "ADOPT")
    return Decision("fails" if word == "worse" else "holds", words)


@register("adopt-leads-by-start", SECTION_7, "ADOPT's lead on the GPT is its start")
def adopt_leads_by_start(evidence: Evidence) -> Decision:
    """With bias correction instead of s_0 = g_1² it is worse."""
    arena, adopt = _adopt(evidence)
    corrected = arena.arm("corner", **ADOPT, start="corrected")
    named = ("ADOPT with bias correction", "ADOPT")
    word, words = _beside(arena, corrected, adopt, *named)
    answers: dict[str, Answer] = {"worse": "holds", "better": "fails"}
    return Decision(answers.get(word, "undecided"), words)


def _adopt(evidence: Evidence) -> tuple[Arena, Arm]:
    arena = evidence.study("corners/gpt-bytes", "tuned")
    return arena, arena.arm("corner", **ADOPT, start="first")


@register(
    "published-lead-is-eps",
    SECTION_7,
    "the published advantage of ACProp on CIFAR is its ε",
)
def published_lead_is_eps(evidence: Evidence) -> Decision:
    """A tiny ε is worse, and SGD is not worse than the published one."""
    arena = evidence.study("corners/published-eps", "tuned")
    published = arena.arm(PUBLISHED, eps=1e-8)
    tiny = arena.arm(PUBLISHED, eps=1e-16)
    eps, eps_words = _beside(arena, tiny, published, "ε = 1e-16", "ε = 1e-8")
    sgd, sgd_words = _beside(arena, arena.arm("sgd"), published, "SGD", "ε = 1e-8")
    answer: Answer = "holds" if eps == "worse" else "undecided"
    if eps == "better" or sgd == "worse":
        answer = "fails"
    return Decision(answer, f"{eps_words}. {sgd_words}")


@register("default-beta2", SECTION_7, "the default's β2 stays 0.999")
def default_beta2(evidence: Evidence) -> Decision:
    """Another one is better on two tasks and worse on none: then it changes."""
    arenas = [evidence.study(f"beta2/{task}", "tuned") for task in TASKS]
    words: list[str] = []
    answer: Answer = "holds"
    for beta2 in (0.95, 0.99, 0.9999):
        seen = [
            _beside(
                arena,
                arena.arm("acprop", beta2=beta2),
                arena.arm("acprop", beta2=0.999),
                f"β2 = {beta2}",
                "0.999",
            )
            for arena in arenas
        ]
        found = [word for word, _ in seen]
        if found.count("better") >= SHOWN_ON and "worse" not in found:
            answer = "fails"
        words += [text for _, text in seen]
    return Decision(answer, ". ".join(words))


@register(
    "centered-faster-again",
    SECTION_9,
    "the published ACProp converges faster on MNIST with a larger ε",
)
def centered_faster_again(evidence: Evidence) -> Decision:
    """With one ε of three: the most charitable reading."""
    fifth = early(evidence.study("second-look/mnist-eps"), 5)
    others = [fifth.arm(name) for name in RAW]
    parts = [outperforms(fifth, arm, others) for arm in fifth.arms(PUBLISHED)]
    answers = [part.answer for part in parts]
    answer: Answer = "undecided" if "undecided" in answers else "fails"
    return Decision(
        "holds" if "holds" in answers else answer,
        ". ".join(part.words for part in parts),
    )


@register(
    "translation-again",
    SECTION_9,
    "the published ACProp outperforms Adam and AdaBelief on DE-EN once ε and smaller "
    "learning rates are searched",
)
def translation_again(evidence: Evidence) -> Decision:
    return _leads(evidence, "de-en", "adam", "adabelief")


@register(
    "images-again",
    SECTION_9,
    "the published ACProp outperforms SGD and AdaBelief on ResNet-34 and DenseNet-121 "
    "once learning rates are searched",
)
def images_again(evidence: Evidence) -> Decision:
    nets = ("resnet34", "densenet121")
    return together(attempt(_leads, evidence, net, "sgd", "adabelief") for net in nets)


@register(
    "no-average-in-gans",
    SECTION_9,
    "the default trains DCGAN and RLGAN better without an average, at β1 = 0",
)
def no_average_in_gans(evidence: Evidence) -> Decision:
    def one(kind: str) -> Decision:
        arena = evidence.study(f"second-look/{kind}", "tuned")
        without, with_one = (arena.arm("acprop", beta1=b) for b in (0.0, 0.5))
        return outperforms(arena, without, [with_one])

    return together(attempt(one, kind) for kind in ("dcgan", "rlgan"))


def _leads(evidence: Evidence, name: str, *others: str) -> Decision:
    arena = evidence.study(f"second-look/{name}", "tuned")
    rivals = [arena.arm(other) for other in others]
    return outperforms(arena, arena.arm(PUBLISHED), rivals)


def _beside(
    arena: Arena, arm: Arm, reference: Arm, name: str, than: str
) -> tuple[str, str]:
    """Better, worse or neither; and in words."""
    seen = arena.comparison(arm, reference)
    gap = difference_words(seen.difference, arena.measure)
    return seen.words, f"{arena.name}: {name} beside {than} {gap}: {seen.words}"


QUESTIONS = tuple(register.sentences)
