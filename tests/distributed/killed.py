"""examples/sharded.py as torchrun starts it, but its second rank is killed once."""

import os
import runpy
import signal
from itertools import count
from pathlib import Path

from torch.optim.optimizer import register_optimizer_step_post_hook

EXAMPLE = Path(__file__).parents[2] / "examples" / "sharded.py"
steps = count(1)


def kill(*_: object) -> None:
    """After the fifth step, before its checkpoint, in the first life only."""
    first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    if next(steps) == 5 and os.environ["RANK"] == "1" and first_life:
        os.kill(os.getpid(), signal.SIGKILL)


register_optimizer_step_post_hook(kill)
runpy.run_path(str(EXAMPLE), run_name="__main__")
