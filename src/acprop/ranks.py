"""One process or several: what a rank of torchrun has to know, and nothing else."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed


def rank() -> int:
    """Which of the processes this is."""
    return distributed.get_rank() if is_distributed() else 0


def world() -> int:
    """How many there are."""
    return distributed.get_world_size() if is_distributed() else 1


def is_distributed() -> bool:
    """Has torchrun started us with others?"""
    return distributed.is_available() and distributed.is_initialized()


def is_first() -> bool:
    """The first rank alone writes."""
    return rank() == 0


def launched_rank() -> int:
    """Which process torchrun says this is, joined yet or not."""
    return int(os.environ.get("RANK", "0"))


def is_launched() -> bool:
    """Did torchrun start this process beside others, joined yet or not?"""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def leave(code: int) -> None:
    """End a rank at once, without the interpreter's shutdown; nothing else.

    Once DDP has existed, gloo's threads outlive the process group, and about one exit
    in ten met them and aborted, after all the work was done and written.
    """
    if is_launched():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait() -> None:
    """Until all ranks are here."""
    if is_distributed():
        distributed.barrier()  # pyright: ignore[reportUnknownMemberType]


def any_of(flag: bool) -> bool:
    """Is it true on any rank?"""
    if not is_distributed():
        return flag
    shared = torch.tensor([float(flag)])
    distributed.all_reduce(shared, op=distributed.ReduceOp.MAX)  # pyright: ignore[reportUnknownMemberType]
    return bool(shared.item())


def total(sums: Tensor) -> Tensor:
    """The sum over all ranks."""
    if world() > 1:
        sums = sums.clone()
        distributed.all_reduce(sums)  # pyright: ignore[reportUnknownMemberType]
    return sums


def copy_from_first(tensor: Tensor) -> None:
    """Take over the first rank's values, in place."""
    if world() > 1:
        distributed.broadcast(tensor, 0)


@contextmanager
def joined(device: str = "cpu") -> Generator[None]:
    """Join the other ranks if torchrun started this process, and leave at the end."""
    if not is_launched() or is_distributed():
        yield
        return
    # gloo beside nccl: flags and sums of the loop live on the CPU
    backend = "cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo"
    distributed.init_process_group(backend)
    try:
        yield
    finally:
        distributed.destroy_process_group()
