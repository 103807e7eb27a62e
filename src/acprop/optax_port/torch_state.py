"""A run that changes framework: the state of torch's optimizers and of ours in JAX.

Means, s and the rest have the shapes of the parameters. So the function that turns your
torch parameters into JAX parameters, with its transposed kernels and other names,
serves them too: that is what `convert` is.
"""

# jax and optax are typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportMissingTypeStubs=false

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from acprop.optax_port.transform import ScaleByRuleState, Tree

Arrays = Mapping[str, Any]
StateDict = dict[str, Any]

# What a state calls in optax's names and in torch's.
_NAMES = {
    "mu": "exp_avg",
    "nu": "exp_avg_sq",
    "nu_max": "max_exp_avg_sq",
    "past": "past",
    "average": "momentum_buffer",
}
# Who else counts steps: schedules, and what holds them.
_COUNTERS = (optax.ScaleByScheduleState, optax.InjectStatefulHyperparamsState)


def from_torch(
    state_dict: StateDict,
    state: Tree,
    convert: Callable[[dict[str, Any]], Tree] | None = None,
) -> Tree:
    """Continue in JAX what torch began: a fresh state with torch's values in it.

        saved = torch.load("opt.pt")                       # opt.state_dict()
        state = optax_port.from_torch(saved, tx.init(params), convert)

    Steps are counted on, also by schedules. Hyper-parameters are not carried over: `tx`
    has its own. Nor is what Kahan's summation kept of half-precision parameters.

    Args:
        state: what `tx.init(params)` returns; may be a chain, masked or injected.
        convert: from numpy arrays by parameter name (by number, "0", "1" …, if the
            optimizer was made without names) to a tree like params. None takes the
            leaves of the tree for the parameters, in order.
    """
    names = _names(state_dict)
    saved = {names[i]: values for i, values in state_dict["state"].items()}
    if set(saved) != set(names.values()):
        missing = ", ".join(sorted(set(names.values()) - set(saved)))
        raise ValueError(
            f"state_dict must have the state of every parameter, got none of {missing}"
        )
    count = _common_step(saved)

    def counted(part: Any) -> Any:
        if "count" not in getattr(part, "_fields", ()):  # a schedule of another kind
            return part
        return part._replace(count=jnp.asarray(count, part.count.dtype))

    def fill(part: Any) -> Any:
        if isinstance(part, optax.ScaleByScheduleState):
            return counted(part)
        if isinstance(part, optax.InjectStatefulHyperparamsState):
            schedules = part.hyperparams_states.items()
            return counted(part)._replace(
                inner_state=over(part.inner_state),
                hyperparams_states={name: counted(state) for name, state in schedules},
            )
        if not isinstance(part, ScaleByRuleState):
            return part
        filled = counted(part)
        for ours, theirs in _NAMES.items():
            old = getattr(part, ours)
            if old is not None:
                new = _read(saved, theirs, part, convert)
                filled = filled._replace(**{ours: _put(old, new, theirs)})
        return filled

    def over(tree: Tree) -> Tree:
        kinds = (ScaleByRuleState, *_COUNTERS)
        return jax.tree.map(fill, tree, is_leaf=lambda part: isinstance(part, kinds))

    _check_has_ours(state)
    return over(state)


def to_torch(
    state: Tree,
    state_dict: StateDict,
    convert: Callable[[Tree], Arrays] | None = None,
) -> StateDict:
    """Continue in torch what JAX began: a state_dict for `load_state_dict`.

        opt.load_state_dict(optax_port.to_torch(state, opt.state_dict(), convert))

    Args:
        state: the state of `tx`; may be a chain, masked or injected.
        state_dict: of the torch optimizer that is to go on; its groups stay.
        convert: from a tree like params to arrays by parameter name (by number if the
            optimizer was made without names). None takes the leaves in order.
    """
    names = _names(state_dict)
    new: dict[int, dict[str, Any]] = {i: {} for i in names}
    for part in _check_has_ours(state):
        for ours, theirs in _NAMES.items():
            tree = getattr(part, ours)
            if tree is None:
                continue
            arrays = _write(tree, ours, part, convert, len(names))
            for i, name in names.items():
                if arrays.get(name) is not None:
                    new[i][theirs] = torch.from_numpy(np.array(arrays[name]))
        for i in new:
            if "exp_avg_sq" in new[i]:
                new[i].setdefault("step", torch.tensor(float(part.count)))
    missing = [names[i] for i, values in new.items() if not values]
    if missing:
        raise ValueError(
            f"state must have what every parameter needs, got nothing of "
            f"{', '.join(missing)}; does convert give it?"
        )
    return {"state": new, "param_groups": state_dict["param_groups"]}


def _check_has_ours(state: Tree) -> list[ScaleByRuleState]:
    def is_ours(part: Any) -> bool:
        return isinstance(part, ScaleByRuleState)

    found = [part for part in jax.tree.leaves(state, is_leaf=is_ours) if is_ours(part)]
    if not found:
        raise ValueError(
            "state must be of a transformation of acprop.optax_port, got none in it; "
            "it is what tx.init(params) returns"
        )
    return found


def _names(state_dict: StateDict) -> dict[int, str]:
    """The parameters' names by their numbers."""
    names: dict[int, str] = {}
    for group in state_dict["param_groups"]:
        given = group.get("param_names") or map(str, group["params"])
        names.update(zip(group["params"], given, strict=True))
    return names


def _common_step(saved: Mapping[str, dict[str, Any]]) -> int:
    steps = {int(values["step"]) for values in saved.values()}
    if len(steps) != 1:
        raise ValueError(
            f"state_dict must have taken equally many steps of all parameters, got "
            f"{', '.join(map(str, sorted(steps)))}; optax counts once for all"
        )
    return steps.pop()


# ---- one tree from torch's arrays, and back -----------------------------------------
# A window has the shape of a parameter at each of its steps, and the one number of a
# reduction has it once it is spread out.


def _read(
    saved: Mapping[str, dict[str, Any]],
    kind: str,
    like: ScaleByRuleState,
    convert: Callable[[dict[str, Any]], Tree] | None,
) -> Tree:
    arrays: dict[str, Any] = {}
    for name, values in saved.items():
        if kind not in values:
            raise ValueError(
                f"state_dict must hold {kind} of parameter {name}, got "
                f"{', '.join(values)}; are both optimizers made with the same options?"
            )
        arrays[name] = values[kind].detach().cpu().numpy()
    if kind == "past":
        n = len(next(iter(arrays.values())))
        slices = [
            _convert({name: a[i] for name, a in arrays.items()}, like, convert)
            for i in range(n)
        ]
        return jax.tree.map(lambda *steps: np.stack(steps), *slices)
    shapes = {name: _shape(values) for name, values in saved.items()}
    is_one = {name: a.shape != shapes[name] for name, a in arrays.items()}
    if any(is_one.values()):
        spread = {name: np.broadcast_to(a, shapes[name]) for name, a in arrays.items()}
        return jax.tree.map(lambda a: a.flat[0], _convert(spread, like, convert))
    return _convert(arrays, like, convert)


def _shape(values: dict[str, Any]) -> tuple[int, ...]:
    """Of the parameter, which every mean has; a rule keeps m or M."""
    mean = "exp_avg" if "exp_avg" in values else "momentum_buffer"
    return tuple(values[mean].shape)


def _convert(
    arrays: dict[str, Any],
    like: ScaleByRuleState,
    convert: Callable[[dict[str, Any]], Tree] | None,
) -> Tree:
    if convert is not None:
        return jax.tree.map(np.asarray, convert(arrays))
    leaves, shape = jax.tree.flatten(like.nu)
    _check_counts(len(arrays), len(leaves))
    return shape.unflatten(arrays.values())


def _check_counts(n_params: int, n_leaves: int) -> None:
    if n_params != n_leaves:
        raise ValueError(
            f"convert must be given, got None: torch has {n_params} parameters and "
            f"this part of the state {n_leaves}"
        )


def _put(old: Tree, new: Tree, kind: str) -> Tree:
    """The new values where the old tree has any; masked parts stay masked."""

    def is_masked(part: Any) -> bool:
        return isinstance(part, optax.MaskedNode)

    def replace(before: Any, after: Any) -> Any:
        if is_masked(before):
            return before
        if before.shape != after.shape:
            raise ValueError(
                f"convert must give {kind} in the shape of the parameter, "
                f"{before.shape}, got {after.shape}; does it transpose what it should?"
            )
        return jnp.asarray(after, before.dtype)

    return jax.tree.map(replace, old, new, is_leaf=is_masked)


def _write(
    tree: Tree,
    kind: str,
    like: ScaleByRuleState,
    convert: Callable[[Tree], Arrays] | None,
    n_params: int,
) -> Arrays:
    def give(values: Tree) -> dict[str, Any]:
        if convert is not None:
            return {
                name: None if isinstance(a, optax.MaskedNode) else np.asarray(a)
                for name, a in convert(values).items()
            }
        leaves = jax.tree.leaves(values)
        _check_counts(n_params, len(leaves))
        return {str(i): np.asarray(a) for i, a in enumerate(leaves)}

    if kind == "past":
        n = len(jax.tree.leaves(tree)[0])
        steps = [give(jax.tree.map(lambda a, i=i: a[i], tree)) for i in range(n)]
        return {
            name: None if a is None else np.stack([s[name] for s in steps])
            for name, a in steps[0].items()
        }
    mean = like.average if like.mu is None else like.mu
    spread = jax.tree.map(lambda a, m: np.broadcast_to(a, m.shape), tree, mean)
    given = give(spread)
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(mean), strict=True)
    if all(a.shape == m.shape for a, m in pairs):
        return given
    return {name: a if a is None else a.flat[0] for name, a in given.items()}
