"""The C library beside this file, loaded with ctypes: optional, and without torch.

`load()` returns it, or None where there is none; `why_not()` says why.
"""

import ctypes
import functools
import hashlib
import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

# Must equal ACPROP_ABI in step.h.
_ABI = 5
PATH = Path(__file__).with_name("_native.so")

# Set to 0 to do without the library, for instance to compare.
SWITCH = "ACPROP_NATIVE"

_ANEW = (
    "acprop anew from where it came from: pip install --force-reinstall --no-deps "
    f"--no-cache-dir PLACE. {SWITCH}=0 in the environment silences this"
)


def _fields(kind: type, names: str) -> tuple[tuple[str, type], ...]:
    return tuple((name, kind) for name in names.split())


class Table(ctypes.Structure):
    """acprop_table of step.h: parameters and their state, as columns of addresses."""

    _fields_ = (
        ("n", ctypes.c_int64),
        *_fields(ctypes.c_void_p, "numel param grad exp_avg exp_avg_sq max_exp_avg_sq"),
        *_fields(ctypes.c_void_p, "momentum_buffer compensation step mean_scale"),
        *_fields(ctypes.c_void_p, "exp_avg_sq_scale stream offset row inner"),
    )


class NativeStepOptions(ctypes.Structure):
    """acprop_step_options of step.h; where a name has `WORDS`, the number of one."""

    _fields_ = (
        *_fields(ctypes.c_double, "lr beta1 beta2 eps weight_decay clip"),
        ("seed", ctypes.c_int64),
        *_fields(ctypes.c_int32, "dtype step_is_double average center nesterov delay"),
        *_fields(ctypes.c_int32, "residual eps_placement bias_correction first_step"),
        *_fields(ctypes.c_int32, "amsgrad clip_kind decoupled_weight_decay maximize"),
        ("state_is_half", ctypes.c_int32),
    )


# In the order of the numbers that step.h gives to them.
WORDS: dict[str, tuple[str | None, ...]] = {
    "dtype": ("float32", "float64", "bfloat16", "float16"),
    "average": (None, "before", "after"),
    "center": (None, "m", "average"),
    "residual": ("current", "previous"),
    "eps_placement": ("inside", "outside", "accumulated"),
    "first_step": ("divide", "sgd", "one"),
    "amsgrad": (None, "raw", "corrected"),
    "clip_kind": (None, "number", "t**0.25"),
}


# centered on m, delay, averaged before or after dividing
SweepRule = tuple[bool, int, bool, bool]


class _Rule(ctypes.Structure):
    """acprop_rule of sweep.h."""

    _fields_ = _fields(ctypes.c_int32, "centered delay before after")


class _SweepJob(ctypes.Structure):
    """acprop_sweep_job of sweep.h."""

    _fields_ = (
        ("cycle", ctypes.c_void_p),
        ("period", ctypes.c_int64),
        *_fields(ctypes.c_double, "lo hi x0 x_star"),
        ("rules", ctypes.c_void_p),
        ("n_rules", ctypes.c_int64),
        ("beta2", ctypes.c_void_p),
        ("n_beta2", ctypes.c_int64),
        ("alpha0", ctypes.c_void_p),
        ("n_alphas", ctypes.c_int64),
        *_fields(ctypes.c_double, "beta1 eta eps_inside eps_outside eps_added"),
        *_fields(ctypes.c_double, "unseen clip"),
        *_fields(ctypes.c_int64, "steps tail"),
        *_fields(ctypes.c_int32, "residual_previous bias_correction"),
        *_fields(ctypes.c_int32, "clip_grows zero_over_zero"),
    )


@functools.cache
def _open() -> tuple[ctypes.CDLL | None, str | None]:
    if is_switched_off():
        return None, f"the environment variable {SWITCH} is 0"
    if not PATH.exists():
        why = "was not built; install a C compiler such as gcc, then"
        return None, f"{PATH.name} {why} {_ANEW}"
    if not _is_intact():
        return None, f"{PATH.name} lacks its SHA-256 or is damaged; install {_ANEW}"
    try:
        library = ctypes.CDLL(str(PATH))
        abi = library.acprop_abi()
    except (OSError, AttributeError) as error:
        return None, f"{PATH.name} cannot be loaded ({error}); reinstall acprop"
    if abi != _ABI:
        return None, f"{PATH.name} is of another version ({abi} ≠ {_ABI}); reinstall"
    library.acprop_step.argtypes = (ctypes.c_void_p,) * 3
    library.acprop_sweep.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    library.acprop_use_isa.argtypes = (ctypes.c_int,)
    return library, None


def _is_intact() -> bool:
    """Is it what was built? To load one that is cut short can end the process."""
    try:
        known = PATH.with_suffix(".sha256").read_text("ascii")
    except (OSError, ValueError):
        return False
    return hashlib.sha256(PATH.read_bytes()).hexdigest() == known.strip()


def is_switched_off() -> bool:
    """Does the user want to do without?"""
    return os.environ.get(SWITCH) == "0"


def load() -> ctypes.CDLL | None:
    """The library, or None."""
    return _open()[0]


def why_not() -> str | None:
    """Why `load` returned None, and what to do about it; None where it did not."""
    return _open()[1]


def sweep(
    out: int,
    *,
    cycle: Iterable[float],
    rules: Sequence[SweepRule],
    beta2: Iterable[float],
    alpha0: Iterable[float],
    **numbers: float,
) -> None:
    """Fill the array at `out` as sweep.h says; `numbers` are its other fields."""
    library = load()
    if library is None:
        raise RuntimeError(f"the native sweep must be there, got none: {why_not()}")
    cycle, beta2, alpha0 = (array("d", values) for values in (cycle, beta2, alpha0))
    table = (_Rule * len(rules))(*(_Rule(*rule) for rule in rules))
    job = _SweepJob(
        cycle=cycle.buffer_info()[0],
        period=len(cycle),
        rules=ctypes.addressof(table),
        n_rules=len(rules),
        beta2=beta2.buffer_info()[0],
        n_beta2=len(beta2),
        alpha0=alpha0.buffer_info()[0],
        n_alphas=len(alpha0),
        **numbers,
    )
    status = library.acprop_sweep(ctypes.addressof(job), out)
    if status == -2:
        raise MemoryError("the sweep needs more memory than there is")
    if status:
        raise ValueError(f"alpha0 must be at most 32 numbers, got {len(alpha0)}")
