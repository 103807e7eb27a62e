"""Start real ranks, each a process of its own, and read what they report."""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
# Not how long it may take, but after how long we no longer believe that it will end.
PATIENCE = 900


def launch(program: str, folder: Path) -> dict:
    """Run a program of this folder, which makes its own ranks; what it reported."""
    folder.mkdir(parents=True, exist_ok=True)
    run = subprocess.run(
        [sys.executable, str(HERE / program), str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((folder / "report.json").read_text())


def in_ranks(world: int, work: Callable[[], None], folder: Path) -> None:
    """Do some work in `world` processes that have joined a group.

    They are forked, because importing torch is most of the time of a short test, and
    they meet in a file: no port can be taken.
    """
    ranks: list[int] = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            _be_a_rank(rank, world, work, folder)
        ranks.append(pid)
    try:
        _wait(set(ranks))
    finally:
        for pid in ranks:
            _end(pid)


def _be_a_rank(rank: int, world: int, work: Callable[[], None], folder: Path) -> None:
    import torch.distributed as dist

    code = 1
    # A rank that waits for ever says where.
    faulthandler.dump_traceback_later(int(os.environ.get("STUCK", PATIENCE)))
    try:
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
        os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world)}
        meeting = f"file://{folder}/meeting-{world}"
        dist.init_process_group(
            "gloo", init_method=meeting, rank=rank, world_size=world
        )
        work()
        dist.barrier()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not a return: on a busy machine torch's threads may still run when the
        # interpreter ends, and abort a process that has nothing more to say.
        os._exit(code)


def _wait(ranks: set[int]) -> None:
    """Until all have ended; if one has failed, the others would wait for it."""
    deadline = time.monotonic() + PATIENCE
    while ranks:
        for pid in list(ranks):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended and status:
                raise SystemExit(f"a rank ended with {status}")
            ranks -= {ended}
        if time.monotonic() > deadline:
            raise SystemExit("the ranks do not end")
        time.sleep(0.02)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return
