"""Two ranks of DeepSpeed's ZeRO on the CPU beside one process; see test_deepspeed.py.

python deepspeed_ranks.py FOLDER       writes FOLDER/report.json
"""

import copy
import json
import os
import sys
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "distributed"))
os.environ |= {"DS_ACCELERATOR": "cpu", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
warnings.simplefilter("ignore")

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from launch import in_ranks  # noqa: E402
from rows import KINDS, OPTIONS, Net, Run, batch, gap  # noqa: E402


def config(stage: int) -> dict:
    return {
        "train_batch_size": 16,
        "train_micro_batch_size_per_gpu": 8,
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 0.0,
        # DeepSpeed knows torch's own and its own optimizers only
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }


def begin(model: torch.nn.Module, kind: type, stage: int):
    opt = kind(model.parameters(), **OPTIONS)
    return deepspeed.initialize(model=model, optimizer=opt, config=config(stage))[0]


def train(engine, steps: range) -> None:
    for step in steps:
        engine.backward(engine(batch(step)).square().mean())
        engine.step()


def compare(stage: int, kind: type, folder: Path) -> dict[str, float]:
    torch.manual_seed(0)
    start = Net()
    alone = copy.deepcopy(start)
    one = Run(alone, kind(alone.parameters(), **OPTIONS))
    one.train(range(6))
    engine = begin(copy.deepcopy(start), kind, stage)
    train(engine, range(3))
    engine.save_checkpoint(str(folder), tag="half")
    train(engine, range(3, 6))
    end = [p.detach().clone() for p in engine.module.parameters()]
    fresh = begin(Net(), kind, stage)
    fresh.load_checkpoint(str(folder), tag="half")
    train(fresh, range(3, 6))
    again = [p.detach().clone() for p in fresh.module.parameters()]
    return {"trained": gap(end, one.read()), "resumed": gap(again, end)}


def main(folder: Path) -> None:
    def work() -> None:
        found = {
            f"{stage}, {name}": compare(stage, kind, folder / f"{stage}-{name}")
            for stage in (1, 2)
            for name, kind in KINDS.items()
        }
        if dist.get_rank() == 0:
            (folder / "report.json").write_text(json.dumps(found))

    in_ranks(2, work, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
