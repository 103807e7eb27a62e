"""What does a step cost under FSDP2, beside AdamW's?

Two ranks on this machine, one thread each; the parameters of a network are sharded by
`fully_shard`, gradients are made once, and the optimizers take turns. ACProp's default
against `AdamW()`, `AdamW(foreach=True)` and `AdamW(fused=True)`. Writes
results/perf/distributed.json: ratios above 1 mean that ACProp is the faster one.
`--rounds 5` shortens it.
"""

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from measure import machine, ratio, save
from shapes import SETS, Shape
from torch import nn
from torch.distributed.fsdp import fully_shard

import acprop

US, RANKS, STEPS = "ACProp()", 2, 5
CHOSEN = ("MLP", "DenseNet-121", "ResNet-50")
PEERS: dict[str, dict[str, bool]] = {
    "AdamW()": {},
    "AdamW(foreach=True)": {"foreach": True},
    "AdamW(fused=True)": {"fused": True},
}


class Bag(nn.Module):
    """The parameters of a network, and nothing that is done with them."""

    def __init__(self, shapes: list[Shape]) -> None:
        super().__init__()
        self.all = nn.ParameterList(torch.randn(shape) * 0.02 for shape in shapes)


def sharded(shapes: list[Shape]) -> list[nn.Parameter]:
    """The shards of one rank, with gradients."""
    torch.manual_seed(0)
    bag = Bag(shapes)
    fully_shard(bag)
    params = list(bag.parameters())
    for param in params:
        param.grad = torch.randn_like(param)
    return params


def seconds(step: Callable[[], None]) -> float:
    """Of one step, when all ranks begin together and the last one counts."""
    dist.barrier()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    spent = torch.tensor(time.perf_counter() - start, dtype=torch.float64)
    dist.all_reduce(spent, op=dist.ReduceOp.MAX)
    return spent.item() / STEPS


def measure(name: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of every candidate, round by round."""
    candidates = {US: acprop.ACProp(sharded(SETS[name]()))}
    for peer, options in PEERS.items():
        candidates[peer] = torch.optim.AdamW(sharded(SETS[name]()), **options)
    samples: dict[str, list[float]] = {candidate: [] for candidate in candidates}
    for opt in candidates.values():
        opt.step()
    for _ in range(rounds):
        for candidate, opt in candidates.items():
            samples[candidate].append(seconds(opt.step))
    return samples


def rank_main(rank: int, rounds: int, folder: str) -> None:
    """What each rank does; the first one writes the seconds down."""
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=RANKS)
    found = {name: measure(name, rounds) for name in CHOSEN}
    if rank == 0:
        (Path(folder) / "seconds.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            spawn.Process(target=rank_main, args=(rank, rounds, folder))
            for rank in range(RANKS)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        found = json.loads((Path(folder) / "seconds.json").read_text())
    record = {"machine": machine(), "ranks": RANKS, "rounds": rounds, "sets": {}}
    for name, samples in found.items():
        own = statistics.median(samples[US]) * 1e3
        ratios = {peer: ratio(samples, peer, US) for peer in PEERS}
        record["sets"][name] = {"milliseconds": own, **ratios}
        print(f"{name}: a step of ACProp takes {own:.2f} ms")
        for peer, r in ratios.items():
            print(f"  {peer:22}{r['median']:6.2f} × ({r['low']:.2f}–{r['high']:.2f})")
    print(f"\nwritten to {save('distributed', record)}")


if __name__ == "__main__":
    main()
