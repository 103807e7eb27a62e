"""`acprop bench …`: train the paper's experiments, any optimizer, any scale."""

import json as json_module
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from acprop.checks import UserError
from acprop.cli import options, show, stopping, store
from acprop.cli.options import Json, Runs
from acprop.records import RunStatus

if TYPE_CHECKING:
    from acprop.bench.engines import Engine
    from acprop.reproduce.rulesets import Ruleset

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

StudyName = Annotated[str, typer.Argument(help="such as vision/cifar10-vgg11")]
ScaleName = Annotated[str, typer.Option("--scale", help="smoke, small or paper")]
RUNS = Path("runs")
STAGES = {
    "stage": "{0.name}",
    "runs": "{0.runs}",
    "done": "{0.done}",
    "core minutes left, as the study estimates": "{0.minutes:.1f}",
}


@app.command()
def run(
    study: StudyName,
    optimizer: Annotated[str, typer.Option(help="see `acprop bench optimizers`")],
    lr: Annotated[float | None, typer.Option(help="default: the optimizer's")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="another setting of the optimizer: eps=1e-8"),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="a setting of the task: batch=64"),
    ] = None,
    seed: Annotated[int, typer.Option()] = 0,
    scale: ScaleName = "smoke",
    runs: Runs = RUNS,
    resume: Annotated[
        bool, typer.Option("--resume", help="continue an interrupted run")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="begin again from the start")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps")] = "cpu",
    threads: options.Threads = 1,
    time_limit: Annotated[float | None, typer.Option(help="in seconds")] = None,
    checkpoint_seconds: Annotated[float, typer.Option()] = 60.0,
    tensorboard: Annotated[
        Path | None,
        options.folder_to_write("write TensorBoard events to this folder"),
    ] = None,
    json: Json = False,
) -> None:
    """One run; `torchrun … -m acprop bench run …` makes it data-parallel."""
    from acprop import ranks
    from acprop.reproduce.runs import run_one

    settings = parsed("--set", setting)
    if lr is not None:
        settings["lr"] = lr
    result = run_one(
        study,
        scale,
        optimizer,
        settings,
        seed,
        task_settings=parsed("--task", task),
        runs=runs,
        resume=resume,
        restart=restart,
        device=device,
        threads=threads,
        time_limit=time_limit,
        checkpoint_seconds=checkpoint_seconds,
        tensorboard=tensorboard,
        quiet=json,
    )
    if result.record is not None:
        words = "already there" if result.was_there else "stored"
        line = f"{show.run(result.record)}; {words} in {result.folder}"
        show.emit([result.record], lambda _: [line], json=json)
    code = 0
    if result.status is RunStatus.INTERRUPTED:
        code = stopping.INTERRUPTED
        words = f"stopped; a checkpoint is in {result.folder}; add --resume to continue"
        typer.echo(words, err=True)
    ranks.leave(code)
    raise typer.Exit(code)


def parsed(option: str, items: list[str] | None) -> dict[str, Any]:
    """Read eps=1e-8, betas=[0.9,0.99], nesterov=true or convention=paper."""
    out: dict[str, Any] = {}
    for item in items or []:
        name, sign, text = item.partition("=")
        if not (name and sign and text):
            raise UserError(f"{option} must be NAME=VALUE, got {item!r}")
        try:
            out[name] = json_module.loads(text)
        except json_module.JSONDecodeError:
            out[name] = text
    return out


@app.command()
@options.takes("ruleset", options.ruleset)
@options.takes("engine", options.engine)
def study(
    name: StudyName,
    ruleset: "Ruleset",
    engine: "Engine",
    scale: ScaleName = "smoke",
    runs: Runs = RUNS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print the runs and minutes, run nothing")
    ] = False,
    out: Annotated[
        Path | None,
        options.file_to_write(
            "also write the records here; what it holds is not run again"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """All runs of a study; what is done already is not done again."""
    from acprop.bench.studies import study_folder
    from acprop.progress import Bar
    from acprop.report.statistics import unclean
    from acprop.report.studies import gather
    from acprop.report.tables import markdown, study_table, trial_table
    from acprop.reproduce import runner

    stopping.answer_with("stopped; run it again and it continues where it was")
    found = study_folder().study(name)
    if dry_run:
        stages = runner.stages(found, ruleset, scale=scale, runs=runs)
        show.emit_table(stages, STAGES, json=json)
        return
    if out is not None:
        runner.restore(runs, out)
    with Bar(name, runner.cost([found], ruleset, scale), quiet=json) as bar:
        (result,) = runner.run(
            [found], ruleset, engine, scale=scale, runs=runs, bar=bar
        )
    if out is not None:
        runner.keep(result, runs, out)
        note = unclean(result.runs)
        if note:
            typer.echo(f"{out}: {note} Commit, then run with other --runs", err=True)
    if json:
        show.emit(result.records, lambda _: [], json=True)
    elif result.study.contestants:
        compared = gather(result.study, result.runs)
        tables = [trial_table(compared), study_table(compared)]
        for table in filter(lambda table: table.rows, tables):
            typer.echo(markdown(table))  # too wide for a terminal's table
    else:
        for record in result.runs:
            written = " ".join(f"{k}={v}" for k, v in record.study_settings.items())
            typer.echo(f"{written}: {show.run(record)}")
    for complaint in result.complaints:
        typer.echo(complaint, err=True)
    raise typer.Exit(int(bool(result.complaints)))


@app.command()
def studies(json: Json = False) -> None:
    """List the studies and their scales."""
    from acprop.bench.studies import study_folder

    known = study_folder()
    found = [known.study(name) for name in known.names()]
    rows = [
        {
            "name": study.name,
            "title": study.title,
            "place": study.place,
            "scales": {scale: len(study.planned(scale)) for scale in study.scales},
        }
        for study in found
    ]
    show.emit(rows, _study_words, json=json)


def _study_words(row: dict[str, Any]) -> show.Words:
    yield "[bold]{name}[/] ({place}): {title}".format(**row)
    yield "    " + ", ".join(f"{s}: {n} runs" for s, n in row["scales"].items())


@app.command()
def optimizers(
    space: Annotated[str, typer.Option(help="of studies/spaces")] = "wide-2",
    json: Json = False,
) -> None:
    """List the optimizers and their cell of the paper's Table 1.

    With --json also their defaults and the search space.
    """
    from acprop.bench.optimizers import rows
    from acprop.bench.spaces import read_spaces
    from acprop.bench.studies import study_folder

    spaces = read_spaces(study_folder().root, space)
    found = [
        {
            **row._asdict(),
            "space_file": spaces.name,
            "spaces": [
                s.model_dump() for s in spaces.spaces if s.optimizer == row.name
            ],
        }
        for row in rows()
    ]
    show.emit(found, _optimizer_words, json=json)
    if not json:
        show.console.print(f"search spaces: studies/spaces/{spaces.name}.toml")


def _optimizer_words(row: dict[str, Any]) -> show.Words:
    """Name, library and cell in a line; the note below, as wide as the terminal."""
    yield "[bold]{name:24}[/] {library:18} {cell}".format(**row).rstrip()
    for line in wrap(row["note"], show.console.width - 4):
        yield f"    {escape(line)}"


app.command()(store.status)
