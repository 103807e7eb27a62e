"""A command that is interrupted: one line and exit code 130, whenever it comes."""

import os
import subprocess
import sys

import pytest

# The command is whatever `run` does; everything around it is as it is.
AROUND = """
import atexit, os, signal, sys, time, types
from acprop.cli import main, stopping

def interrupt(*_):
    signal.raise_signal(NUMBER)

def run():
    BODY

app = types.ModuleType("acprop.cli.app")
app.run = run
sys.modules["acprop.cli.app"] = app
main()
"""

MOMENTS = {
    "plainly": """
    interrupt()
""",
    "where every error is caught": """
    try:
        interrupt()
    except BaseException:
        pass
""",
    "in a destructor, which loses errors": """
    class Late:
        __del__ = interrupt
    Late()
""",
    "where an error is wrapped in another": """
    try:
        interrupt()
    except BaseException as error:
        raise ImportError("initialisation failed") from error
""",
    "while another error is dealt with": """
    try:
        1 / 0
    except ZeroDivisionError:
        interrupt()
    finally:
        interrupt()
""",
    "in the middle of a write": """
    class Slow:
        def __str__(self):
            interrupt()
    print(Slow(), file=sys.stderr)
""",
    "where it was held back": """
    import importlib, typer
    from acprop.bench.signals import signals_at_end
    del sys.modules["acprop.cli.app"]
    app = typer.Typer(cls=importlib.import_module("acprop.cli.app").Commands)
    app.callback()(lambda: None)
    @app.command()
    def command():
        with signals_at_end():
            interrupt()
            raise RuntimeError("a broken pool")
    app(["command"])
""",
}


def run(body, number):
    text = AROUND.replace("BODY", body.strip()).replace("NUMBER", number)
    words = [sys.executable, "-c", text]
    return subprocess.run(words, capture_output=True, text=True)


@pytest.mark.parametrize("number", ["signal.SIGINT", "signal.SIGTERM"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_answer_is_one_line_and_130(moment, number):
    said = run(MOMENTS[moment], number)
    assert (said.returncode, said.stderr) == (130, "stopped\n")


def test_a_command_says_in_its_own_words_that_it_can_go_on():
    said = run("stopping.answer_with('go on'); interrupt()", "signal.SIGINT")
    assert (said.returncode, said.stderr) == (130, "go on\n")


def test_when_the_command_is_done_no_signal_changes_its_exit_code():
    """Python's own ending takes a while: it joins threads and calls what was asked."""
    said = run("atexit.register(interrupt); print('done')", "signal.SIGINT")
    assert (said.returncode, said.stdout, said.stderr) == (0, "done\n", "")
    said = run("atexit.register(interrupt); sys.exit(1)", "signal.SIGTERM")
    assert (said.returncode, said.stderr) == (1, "")


def test_reproduce_ends_as_cleanly_when_it_is_terminated(
    tmp_path, start, until, patience
):
    """As `kill` does it, or a scheduler: the signal reaches the parent alone."""
    words = ["reproduce", "--only", "lab", "--jobs", "2", "--out", str(tmp_path)]
    process = start(
        [sys.executable, "-m", "acprop", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until(lambda: list(tmp_path.glob("verdicts/*.jsonl")))
    process.terminate()
    printed, said = process.communicate(timeout=patience)
    assert (process.returncode, printed) == (130, "")
    # One line: no leaked semaphore, no traceback.
    assert said == "stopped; run it again and it continues where it was\n"
    until(lambda: not is_alive(process.pid))


def is_alive(group):
    """Is a process of the group left? Workers belong to it, and their helpers."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
