"""The design whose corners are known methods."""

import numpy as np
import pytest
import torch

import acprop
from acprop.bench.optimizers.corners import Corner

GRADIENTS = np.random.default_rng(0).normal(size=(40, 5)) * [1, 10, 0.1, 1e-3, 1]
GRADIENTS[::3, 4] = 0.0


def path(make, **settings):
    """Where a parameter goes under these gradients, in float64."""
    x = torch.zeros(5, dtype=torch.float64)
    optimizer = make([x], lr=0.01, **settings)
    steps = []
    for g in GRADIENTS:
        x.grad = torch.from_numpy(g)
        optimizer.step()
        steps.append(x.numpy().copy())
    return np.array(steps)


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("nesterov", [False, True])
def test_averaging_before_is_the_familys_own_rule(delay, nesterov):
    """Two implementations of one method, with the same bound and the same ε."""
    alike = {"average": "before", "delay": delay, "nesterov": nesterov, "eps": 1e-8}
    ours = path(acprop.ACProp, center=None, **alike)
    np.testing.assert_allclose(path(Corner, centered=False, **alike), ours, atol=1e-12)


def test_the_first_corner_is_adam():
    """Its bound does not bind where gradients come as noise."""
    settings = {"centered": False, "delay": 0, "average": "before", "nesterov": False}
    adam = path(torch.optim.AdamW, weight_decay=0.0)
    np.testing.assert_allclose(path(Corner, **settings), adam, atol=1e-12)


def written_out(centered, delay, nesterov, start, beta1=0.9, beta2=0.99, eps=1e-8):
    """Averaging after dividing, as the module's first lines have it, one by one."""
    x, m, M = np.zeros((3, 5))
    s = [GRADIENTS[0] ** 2 if start == "first" else np.zeros(5)]
    steps = []
    for t, g in enumerate(GRADIENTS, 1):
        r = np.sqrt((1 + beta1) / 2) * (g - m) if centered else g
        s.append(beta2 * s[-1] + (1 - beta2) * r**2)
        m = beta1 * m + (1 - beta1) * g
        k = t - delay
        seen = 1 - beta2**k if start == "corrected" and k else 1
        u = np.clip(g / (np.sqrt(s[k] / seen) + eps), -(t**0.25), t**0.25)
        M = beta1 * M + (1 - beta1) * u
        d = M / (1 - beta1**t)
        if nesterov:
            d = (beta1 * M + (1 - beta1) * u) / (1 - beta1 ** (t + 1))
        x = x - 0.01 * d
        steps.append(x)
    return np.array(steps)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("start", ["corrected", "first"])
def test_averaging_after_is_what_the_formulas_say(centered, delay, nesterov, start):
    chosen = {"centered": centered, "delay": delay, "nesterov": nesterov}
    chosen["start"] = start
    made = path(Corner, betas=(0.9, 0.99), average="after", **chosen)
    np.testing.assert_allclose(made, written_out(**chosen), atol=1e-12)


def test_kappa_leads_from_the_centered_rule_to_adams():
    """At β1 = β2 = β the mean of g² is m² + 2β/(1 + β)·s, once no start is left."""
    beta, alike = 0.5, {"average": "before", "delay": 0, "eps": 0.0, "nesterov": False}
    kappa = (1 + beta) / (2 * beta)
    raw = path(Corner, betas=(beta, beta), centered=False, **alike)
    dial = path(Corner, betas=(beta, beta), centered=True, kappa=kappa, **alike)
    late = np.diff(raw, axis=0)[-3:], np.diff(dial, axis=0)[-3:]
    np.testing.assert_allclose(late[1] * np.sqrt(kappa), late[0], atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"delay": 2}, "delay must be one of 0, 1, got 2"),
        ({"average": "both"}, "average must be one of before, after, got 'both'"),
        ({"start": "zero"}, "start must be one of corrected, first, got 'zero'"),
        ({"kappa": -1.0}, "kappa must be finite and 0 or more, got -1.0"),
    ],
)
def test_what_is_no_corner_is_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        Corner([torch.zeros(1)], **setting)
