"""The rates of Section 4 measured; `CLAIMS` has all of Section 4 and Appendix B."""

import math
from dataclasses import replace

from acprop.lab.arrays import Floats
from acprop.lab.bounds import natural_constants, theorem_41_corrected
from acprop.lab.claims import (
    theorem41,
)
from acprop.lab.claims.claim import Finding, claim
from acprop.lab.descent import WalkSettings, walk
from acprop.lab.methods import method
from acprop.lab.nonconvex import problem
from acprop.lab.rates import ASYNC, SETTINGS, TWINS, local_slopes, student

RATE = "Section 4, optimal rate in big O"

# Not the well: the first asynchronous step, α0·g/ε, throws some seeds out of it.
SYMMETRIC = ("cosine-noisy", "ratio", "waves")


def _slopes(name: str, optimizer: str) -> Floats:
    return local_slopes(walk(problem(name), method(optimizer), SETTINGS))


@claim("async-rate", "paper", "central", RATE)
def async_rate() -> Finding:
    """Asynchronous methods converge at O(1/√T) when η = ½.

    By the corrected Theorem 4.1, which holds for every asynchronous method.
    """
    held = theorem41.corrected()
    scaled: dict[str, list[float]] = {}
    for name in ASYNC:
        c = natural_constants(problem("cosine-noisy"), method(name))
        scaled[name] = [
            theorem_41_corrected(c, WalkSettings(c.alpha0_limit, steps=T)) * T**0.5
            for T in (10**2, 10**6)
        ]
    change = max(abs(b / a - 1) for a, b in scaled.values())
    listed = ", ".join(f"{a:.2f} for {name}" for name, (a, _) in scaled.items())
    return Finding.of(
        held.verdict == "holds" and change < 1e-9,
        f"the corrected Theorem 4.1 (theorem-4.1-corrected) is proved for every A_t "
        f"that knows the past only, and √T times its right side is the same at T = 10² "
        f"and 10⁶ (1 - cos x with noise, ε = 1: {listed}); {held.evidence}",
        {"√T times the bound": scaled, **held.numbers},
    )


@claim("async-rate-beats-sync", "paper", "central", RATE)
def async_beats_sync() -> Finding:
    """This outperforms the O(log T/√T) of synchronous methods.

    log T/√T would lie 1/log T above; one example cannot refute a worst case.
    """
    gaps = {
        f"{sync} - {delayed} on {name}": student(
            _slopes(name, sync) - _slopes(name, delayed)
        )
        for name in SYMMETRIC
        for delayed, sync in TWINS
    }
    predicted = 1 / math.log(SETTINGS.steps)
    least = min(i.low for i in gaps.values())
    most = max(i.high for i in gaps.values())
    shown = all(i.low > 0 and i.high >= predicted for i in gaps.values())
    return Finding(
        "holds" if shown else "undecided",
        f"between methods that differ in the delay only, the slopes of the squared "
        f"gradient differ by {least:.3f} to {most:.3f} (95 % intervals of {len(gaps)} "
        f"pairs) where a factor log T would make {predicted:.3f}: it is not seen and, "
        "being a worst case, not refuted",
        {key: [i.low, i.mean, i.high] for key, i in gaps.items()},
    )


@claim("sync-stalls-on-skewed-noise", "ours", "central", RATE)
def sync_stalls() -> Finding:
    """With skewed noise and a small β2 synchronous methods stall where their
    asynchronous twins go on: the difference is a bias, not a logarithm.

    Noise of 9 once in ten and -1 else, β2 = 0.9: the bias of g/√v never ends.
    """
    h, p = replace(SETTINGS, alpha0=0.1, beta2=0.9), problem("cosine-skewed")
    tails = {
        name: student(walk(p, method(name), h).squared[-1000:].mean(axis=0).tolist())
        for pair in TWINS
        for name in pair
    }
    ratios = [tails[sync].low / tails[delayed].high for delayed, sync in TWINS]
    listed = ", ".join(f"{name} {i.mean:.4f}" for name, i in tails.items())
    return Finding.of(
        min(ratios) > 5,
        f"mean squared gradient of the steps 3000 … 4000 on 1 - cos x with skewed "
        f"noise, η = ½: {listed}; the 95 % intervals are at least "
        f"{min(ratios):.1f}-fold apart",
        {name: [i.low, i.mean, i.high] for name, i in tails.items()},
    )
