"""Bad options are refused at the door, in one form, and nothing is changed by them.

<argument> must <condition>, got <value>[; <remedy>]
"""

import copy
import inspect
import io
import math
from collections import UserList
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import acprop
from acprop.optim.options import OPTIONS, RULE_OPTIONS, Keywords

CLASSES = [
    acprop.ACProp,
    acprop.AdaBelief,
    acprop.AdaShift,
    acprop.Adam,
    acprop.RMSprop,
]
NAN, INF = math.nan, math.inf
KNOWN = "guarded, paper, authors, optax, torch, torch-rmsprop"
FLAGS = [
    "decoupled_weight_decay",
    "amsgrad",
    "maximize",
    "capturable",
    "differentiable",
    "kahan",
    "small_state",
    "error_if_nonfinite",
]

# option, value, error, message
BAD = [
    (
        "state_dtype",
        torch.float16,
        ValueError,
        "state_dtype must be None or torch.bfloat16, got torch.float16; float16 has "
        "too few exponents for s, and float32 is what None means",
    ),
    ("lr", -1.0, ValueError, "lr must be finite and 0 or more, got -1.0"),
    ("lr", NAN, ValueError, "lr must be finite and 0 or more, got nan"),
    ("lr", INF, ValueError, "lr must be finite and 0 or more, got inf"),
    ("lr", "1e-3", TypeError, "lr must be a number, got '1e-3'"),
    ("lr", True, TypeError, "lr must be a number, got True"),
    ("lr", None, TypeError, "lr must be a number, got None"),
    ("lr", torch.tensor(NAN), ValueError, "lr must be finite and 0 or more, got nan"),
    ("lr", torch.tensor(True), TypeError, "lr must be a number, got True"),
    (
        "lr",
        torch.ones(2),
        ValueError,
        "lr must have one element if it is a tensor, got shape (2,)",
    ),
    (
        "lr",
        torch.ones(0, 3),
        ValueError,
        "lr must have one element if it is a tensor, got shape (0, 3)",
    ),
    ("betas", (1.0, 0.9), ValueError, "betas[0] must be in [0, 1), got 1.0"),
    ("betas", (0.9, 1), ValueError, "betas[1] must be in [0, 1), got 1"),
    ("betas", (0.9, -0.1), ValueError, "betas[1] must be in [0, 1), got -0.1"),
    ("betas", (NAN, 0.9), ValueError, "betas[0] must be in [0, 1), got nan"),
    ("betas", (0.9,), TypeError, "betas must be a pair of numbers, got (0.9,)"),
    ("betas", 0.9, TypeError, "betas must be a pair of numbers, got 0.9"),
    ("betas", "ab", TypeError, "betas must be a pair of numbers, got 'ab'"),
    (
        "betas",
        (0.9, 0.99, 0.999),
        TypeError,
        "betas must be a pair of numbers, got (0.9, 0.99, 0.999)",
    ),
    ("betas", (0.9, "x"), TypeError, "betas[1] must be a number, got 'x'"),
    ("betas", (False, 0.9), TypeError, "betas[0] must be a number, got False"),
    (
        "weight_decay",
        torch.tensor(0.1),
        TypeError,
        "weight_decay must be a number unless differentiable=True, got a tensor",
    ),
    (
        "betas",
        (0.9, torch.tensor(0.9)),
        TypeError,
        "betas[1] must be a number unless differentiable=True, got a tensor",
    ),
    ("alpha", 1.0, ValueError, "alpha must be in [0, 1), got 1.0"),
    ("alpha", None, TypeError, "alpha must be a number, got None"),
    ("momentum", -0.5, ValueError, "momentum must be in [0, 1), got -0.5"),
    ("momentum", False, TypeError, "momentum must be a number, got False"),
    ("centered", 2, TypeError, "centered must be True or False, got 2"),
    ("eps", NAN, ValueError, "eps must be finite and 0 or more, got nan"),
    ("eps", -1e-8, ValueError, "eps must be finite and 0 or more, got -1e-08"),
    ("eps", "1e-8", TypeError, "eps must be a number, got '1e-8'"),
    (
        "weight_decay",
        -0.1,
        ValueError,
        "weight_decay must be finite and 0 or more, got -0.1",
    ),
    (
        "weight_decay",
        INF,
        ValueError,
        "weight_decay must be finite and 0 or more, got inf",
    ),
    ("weight_decay", None, TypeError, "weight_decay must be a number, got None"),
    (
        "convention",
        "papers",
        ValueError,
        f"convention must be one of {KNOWN}, got 'papers'; did you mean paper?",
    ),
    ("convention", 3, TypeError, "convention must be a name or a Convention, got 3"),
    (
        "convention",
        None,
        TypeError,
        "convention must be a name or a Convention, got None",
    ),
    ("clip", 0, ValueError, "clip must be above 0, got 0; None switches it off"),
    ("clip", -1.0, ValueError, "clip must be above 0, got -1.0; None switches it off"),
    ("clip", NAN, ValueError, "clip must be above 0, got nan; None switches it off"),
    ("clip", "t", TypeError, "clip must be None, \"t**0.25\" or a number, got 't'"),
    ("clip", True, TypeError, 'clip must be None, "t**0.25" or a number, got True'),
    ("delay", -1, ValueError, "delay must be 0 or more, got -1"),
    ("delay", 1.5, TypeError, "delay must be a whole number, got 1.5"),
    ("delay", True, TypeError, "delay must be a whole number, got True"),
    (
        "average",
        "m",
        ValueError,
        "average must be one of None, before, after, got 'm'",
    ),
    ("center", "M", ValueError, "center must be one of None, m, average, got 'M'"),
    ("center", True, ValueError, "center must be one of None, m, average, got True"),
    ("nesterov", "yes", TypeError, "nesterov must be True or False, got 'yes'"),
    ("nesterov", None, TypeError, "nesterov must be True or False, got None"),
    (
        "reduction",
        "sum",
        ValueError,
        "reduction must be one of None, max, mean, got 'sum'",
    ),
    (
        "constraint",
        "box",
        TypeError,
        "constraint must be None or a Box, got 'box'; "
        "for example acprop.Box(-1.0, 1.0)",
    ),
    (
        "constraint",
        {"kind": "bx"},
        TypeError,
        "constraint must be None or a Box, got {'kind': 'bx'}; for example "
        "acprop.Box(-1.0, 1.0)",
    ),
    (
        "constraint",
        {"kind": "box", "lo": 1.0, "hi": 0.0},
        ValueError,
        "lo must be at most hi, got 1.0 and 0.0",
    ),
    (
        "stochastic_rounding",
        -1,
        ValueError,
        "stochastic_rounding must be 0 or more, got -1",
    ),
    (
        "stochastic_rounding",
        True,
        TypeError,
        "stochastic_rounding must be a whole number, got True",
    ),
    (
        "stochastic_rounding",
        0,
        ValueError,
        "kahan must be False with stochastic_rounding, got True; both mend the same "
        "rounding",
    ),
    *(
        (name, value, TypeError, f"{name} must be True or False, got {value!r}")
        for name, value in product(FLAGS, [None, 2, "yes"])
    ),
    *(
        (name, value, TypeError, f"{name} must be None, True or False, got {value!r}")
        for name, value in product(["foreach", "fused"], [2, "yes"])
    ),
]
# Not what RMSprop alone takes
BAD_IN_A_GROUP = [row for row in BAD if row[0] not in ("alpha", "momentum", "centered")]


def label(value: object) -> str | None:
    return getattr(value, "__name__", None)


def a_param() -> Tensor:
    return torch.zeros(2, requires_grad=True)


@pytest.mark.parametrize(
    ("cls", "option", "value", "error", "message"),
    [
        (cls, *row)
        for cls, row in product(CLASSES, BAD)
        if row[0] in inspect.signature(cls).parameters
    ],
    ids=label,
)
def test_a_bad_option_is_refused_by_name(cls, option, value, error, message):
    with pytest.raises(error) as caught:
        cls([a_param()], **{option: value})
    assert str(caught.value) == message


def test_the_table_misses_no_option():
    """Whoever adds an option adds a line above."""
    tried = {option for option, *_ in BAD}
    for cls in CLASSES:
        assert set(inspect.signature(cls).parameters) <= tried | {"params"}


@pytest.mark.parametrize(
    ("option", "value", "error", "message"), BAD_IN_A_GROUP, ids=label
)
def test_a_bad_option_of_a_group_is_refused_and_changes_nothing(
    option, value, error, message
):
    group = {"params": [a_param()], option: value}
    for cls in CLASSES:
        with pytest.raises(error) as caught:
            cls([{"params": [a_param()]}, group])
        assert str(caught.value) == message
    param = a_param()
    opt = acprop.ACProp([param], lr=0.1)
    param.grad = torch.ones(2)
    opt.step()
    before = copy.deepcopy((opt.state_dict()["param_groups"], opt.defaults))
    state = copy.deepcopy(opt.state_dict()["state"])
    with pytest.raises(error) as caught:
        opt.add_param_group(group)
    assert str(caught.value) == message
    assert (opt.state_dict()["param_groups"], opt.defaults) == before
    torch.testing.assert_close(opt.state_dict()["state"], state, rtol=0, atol=0)


def test_a_bad_alpha_of_a_group_is_refused():
    with pytest.raises(ValueError, match=r"^alpha must be in \[0, 1\), got 1.0$"):
        acprop.RMSprop([{"params": [a_param()], "alpha": 1.0}])


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_foreach_does_not_go_with_differentiable(cls):
    message = (
        "^foreach must be None or False with differentiable=True, got True; "
        "torch's list operations do not support autograd$"
    )
    with pytest.raises(ValueError, match=message):
        cls([a_param()], foreach=True, differentiable=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"average": None, "nesterov": True},
            "nesterov must be False with average=None, got True; there is no average "
            "that could look ahead",
        ),
        (
            {"convention": "paper", "nesterov": True},
            "nesterov must be False with average=None, got True; there is no average "
            "that could look ahead",
        ),
        (
            {"average": "before", "center": "average"},
            "center must be None or \"m\" with average='before' and delay=1, got "
            "'average'; it needs average=\"after\" and delay=1",
        ),
        (
            {"center": "average", "delay": 0},
            "center must be None or \"m\" with average='after' and delay=0, got "
            "'average'; it needs average=\"after\" and delay=1",
        ),
    ],
    ids=str,
)
def test_what_an_average_cannot_do_is_refused(options, message):
    for make in (
        lambda: acprop.ACProp([a_param()], **options),
        lambda: acprop.ACProp([{"params": [a_param()], **options}]),
        lambda: acprop.ACProp([a_param()]).add_param_group(
            {"params": [a_param()], **options}
        ),
    ):
        with pytest.raises(ValueError, match="must") as caught:
            make()
        assert str(caught.value) == message


def test_options_of_a_rule_are_shown_as_they_are_and_not_as_the_convention():
    """What is left to the convention is filled in where a group is made."""
    group = acprop.ACProp([a_param()]).param_groups[0]
    assert (group["average"], group["center"]) == ("after", "average")
    assert group["nesterov"] is True
    group = acprop.ACProp([a_param()], convention="paper").param_groups[0]
    assert (group["average"], group["center"]) == (None, "m")
    assert group["nesterov"] is False


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_one_kernel_is_chosen_not_two(cls):
    message = "^foreach must be None or False with fused=True, got True$"
    with pytest.raises(ValueError, match=message):
        cls([a_param()], foreach=True, fused=True)


@pytest.mark.parametrize("cls", CLASSES, ids=label)
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: torch.zeros(2), TypeError, r"should be an iterable of Tensors"),
        (list, ValueError, r"optimizer got an empty parameter list"),
        (lambda: [1.0], TypeError, r"optimizer can only optimize Tensors"),
        (lambda: [a_param() * 2], ValueError, r"can't optimize a non-leaf Tensor"),
    ],
)
def test_bad_parameters_are_refused_as_by_torch(make, error, message, cls):
    with pytest.raises(error, match=message):
        cls(make())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: [p], TypeError, r"param_group must be a dict, but got .*list"),
        (lambda p: {"params": [p]}, ValueError, r"more than one parameter group"),
    ],
)
def test_a_bad_group_is_refused_as_by_torch(make, error, message):
    param = a_param()
    opt = acprop.ACProp([param])
    with pytest.raises(error, match=message):
        opt.add_param_group(make(param))
    assert len(opt.param_groups) == 1


@pytest.mark.parametrize("cls", CLASSES, ids=label)
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("lr", 0),
        ("lr", 0.0),
        ("lr", torch.tensor(0.1)),
        ("lr", torch.tensor([0.1])),
        ("eps", 0),
        ("eps", None),
        ("clip", 1),
        ("clip", "t**0.25"),
        ("convention", "optax"),
        ("convention", acprop.PAPER),
        ("foreach", False),
        ("fused", False),
        ("constraint", acprop.Box(1, 1)),
    ],
    ids=str,
)
def test_what_is_on_the_border_of_the_allowed_is_allowed(cls, option, value):
    param = a_param()
    opt = cls([param], **{option: value})
    param.grad = torch.ones(2)
    opt.step()
    assert param.isfinite().all()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"betas": [0.5, 0.9]}, {"betas": (0.5, 0.9)}),
        ({"betas": UserList([0.5, 0.9])}, {"betas": (0.5, 0.9)}),  # as OmegaConf's
        ({"betas": np.array([0.5, 0.75])}, {"betas": (0.5, 0.75)}),
        ({"lr": np.float32(0.5)}, {"lr": 0.5}),
        ({"lr": np.int64(1), "eps": np.float64(1e-8)}, {"lr": 1.0, "eps": 1e-8}),
        ({"weight_decay": np.float64(0.1)}, {"weight_decay": 0.1}),
        ({"amsgrad": 1, "maximize": 0}, {"amsgrad": True, "maximize": False}),
        ({"amsgrad": np.True_, "foreach": 1}, {"amsgrad": True, "foreach": True}),
        ({"clip": np.float64(2.0)}, {"clip": 2.0}),
        ({"nesterov": np.False_}, {"nesterov": False}),
    ],
    ids=str,
)
def test_what_torch_accepts_is_accepted_and_kept_as_plain_values(given, kept):
    """So that torch.load(weights_only=True) reads the checkpoint."""
    opt = acprop.ACProp([a_param()], **given)
    group = opt.param_groups[0]
    assert {name: group[name] for name in kept} == kept
    assert {name: type(group[name]) for name in kept} == {
        name: type(value) for name, value in kept.items()
    }
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    torch.load(file, weights_only=True)


def test_betas_and_decay_may_be_tensors_where_the_step_is_differentiated():
    given = {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.3}
    params, moved = [a_param(), a_param()], []
    betas = tuple(torch.tensor(b, requires_grad=True) for b in given["betas"])
    decay = torch.tensor(0.3, requires_grad=True)
    tensors = {"lr": 0.1, "betas": betas, "weight_decay": decay}
    for param, options in zip(params, (given, tensors), strict=True):
        x = param + 1
        opt = acprop.ACProp([x], differentiable=True, convention="authors", **options)
        for g in (1.0, -2.0, 0.5):
            x.grad = torch.full((2,), g)
            opt.step()
        moved.append(x)
    torch.testing.assert_close(moved[1], moved[0])
    moved[1].sum().backward()
    assert all(t.grad is not None and t.grad != 0 for t in (*betas, decay))


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_an_unknown_option_is_refused_by_name(cls):
    with pytest.raises(
        TypeError,
        match=rf"^{cls.__name__} must be given .* got 'bta'",
    ):
        cls([a_param()], bta=1)


# class, an option that is another's, a value that other takes, the other
FOREIGN = [
    (acprop.AdaBelief, "reduction", "max", "ACProp"),
    (acprop.AdaBelief, "delay", 2, "ACProp"),
    (acprop.AdaBelief, "nesterov", True, "ACProp"),
    (acprop.AdaShift, "center", "m", "ACProp"),
    (acprop.AdaShift, "average", "after", "ACProp"),
    (acprop.Adam, "delay", 3, "ACProp"),
    (acprop.Adam, "center", "m", "ACProp"),
    (acprop.RMSprop, "delay", 1, "ACProp"),
    (acprop.RMSprop, "reduction", "mean", "ACProp"),
]


@pytest.mark.parametrize(("cls", "option", "value", "owner"), FOREIGN, ids=label)
def test_a_class_takes_no_option_that_would_make_it_another(cls, option, value, owner):
    """Not as a keyword, not in a group, not by hand, not from a checkpoint."""
    with pytest.raises(TypeError, match=r"^\w+ must be given options among") as caught:
        cls([a_param()], **{option: value})
    assert str(caught.value).endswith(f"got {option!r}; acprop.{owner} takes it")
    param, group = a_param(), {"params": [a_param()], option: value}
    opt = cls([param])
    param.grad = torch.ones(2)
    opt.step()
    kept, own = param.detach().clone(), opt.param_groups[0][option]
    message = rf"^{option} must be {own!r} in {cls.__name__}, got {value!r}; acprop."
    with pytest.raises(ValueError, match=message):
        opt.add_param_group(group)
    opt.add_param_group({**opt.param_groups[0], "params": [a_param()]})
    saved = copy.deepcopy(opt.state_dict())
    saved["param_groups"][1][option] = value
    with pytest.raises(ValueError, match=message):
        opt.load_state_dict(saved)
    opt.param_groups[1][option] = value
    with pytest.raises(ValueError, match=message):
        opt.step()
    assert torch.equal(param, kept)


@pytest.mark.parametrize("clip", [None, INF])
def test_a_step_that_nothing_bounds_is_refused(clip):
    """Where s is still 0 the first step would be lr·g/1e-30."""
    message = (
        r'^clip must be a finite number or "t\*\*0.25" with eps=1e-30 and delay=1, got '
        rf'{clip}; convention="authors" does without a bound$'
    )
    opt = acprop.ACProp([a_param()])
    opt.param_groups[0]["clip"] = clip
    for make in (
        lambda: acprop.ACProp([a_param()], clip=clip),
        lambda: acprop.AdaShift([{"params": [a_param()], "clip": clip}]),
        opt.step,
    ):
        with pytest.raises(ValueError, match=message):
            make()
    acprop.ACProp([a_param()], clip=clip, delay=0)
    acprop.ACProp([a_param()], clip=clip, eps=1e-8)
    acprop.ACProp([a_param()], clip=clip, convention="authors")


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_a_trainer_finds_no_momentum_to_warm_up(cls):
    """Some write group["momentum"] wherever there is one; here it would be ours."""
    own = {"momentum": 0.9} if cls is acprop.RMSprop else {}
    for opt in (cls([a_param()]), cls([a_param()], **own)):
        assert "momentum" not in opt.param_groups[0].keys() | opt.defaults.keys()


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_signature_and_keywords_name_the_options_and_their_defaults(cls):
    shown = inspect.signature(cls).parameters
    assert set(Keywords.__annotations__) - set(RULE_OPTIONS) <= set(shown)
    group = cls([a_param()]).defaults
    for name in set(shown) & set(OPTIONS):
        assert shown[name].default == group[name]


def test_every_option_is_explained():
    shown = inspect.signature(acprop.ACProp).parameters
    for name in shown:
        assert f"        {name}: " in acprop.ACProp.__doc__


# Gradients are looked at before anything moves


def test_a_sparse_gradient_is_refused_by_name_before_anything_changes():
    model = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 1))
    groups = [
        {"params": list(model[1].named_parameters(prefix="1"))},
        {"params": list(model[0].named_parameters(prefix="0"))},
    ]
    opt = acprop.ACProp(groups)
    before = copy.deepcopy(model.state_dict())
    model(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(RuntimeError) as caught:
        opt.step()
    assert str(caught.value) == (
        "the gradient of '0.weight' must be dense, got torch.sparse_coo; pass "
        "sparse=False to its nn.Embedding, or give that parameter to "
        "torch.optim.SparseAdam"
    )
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert not opt.state


@pytest.mark.parametrize("cls", CLASSES, ids=label)
def test_a_sparse_gradient_without_a_name_is_found_by_its_place(cls):
    params = [a_param(), a_param()]
    opt = cls([{"params": [params[0]]}, {"params": [a_param(), params[1]]}])
    params[0].grad = torch.ones(2)
    params[1].grad = torch.ones(2).to_sparse()
    with pytest.raises(RuntimeError, match=r"^the gradient of parameter 1 of group 1 "):
        opt.step()
    assert torch.equal(params[0], torch.zeros(2))
    assert not opt.state
