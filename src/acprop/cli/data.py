"""`acprop data …`: the data sets, where they are and whether they are whole."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from acprop.cli import show
from acprop.tasks import data

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="print one JSON object a line")]


@app.command("list")
def list_sets(json: Json = False) -> None:
    """Every set we know, and whether it is here."""
    rows = [_row(name) for name in data.NAMES]
    show.emit(rows if json else [rows], _table, json=json)


def _table(rows: Any) -> show.Words:
    table = Table("name", "what", "MB", "here")
    for row in rows:
        source = row["source"]
        here = f"from {source['route']} {source['origin']}" if source else "no"
        size = f"{row['n_bytes'] / 1e6:.0f}" if row["n_bytes"] else ""
        table.add_row(row["name"], row["title"], size, here)
    return [table, f"in {data.cache_folder()}"]


def _row(name: str) -> dict[str, Any]:
    described = data.describe(name)
    present = data.is_present(name)
    source = data.source_of(name) if present else None
    # of a set whose files are not known beforehand: what was recorded
    recorded = sum((source or {}).get("n_bytes", {}).values())
    return {
        "name": name,
        "title": described.title,
        "n_classes": described.n_classes,
        "n_bytes": described.n_bytes or recorded,
        "present": present,
        "folder": str(data.folder_of(name)),
        "source": source,
    }


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help=f"one of {', '.join(data.NAMES)}")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="a folder that holds it; no network")
    ] = None,
) -> None:
    """Bring a set into the cache, or repair it; nothing happens if it is whole."""
    place = data.fetch(name, folder=folder)
    source = data.source_of(name)
    typer.echo(
        f"{name} is in {place}, verified, from {source['route']} {source['origin']}"
    )


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="default: those that are here")
    ] = None,
    json: Json = False,
) -> None:
    """Hash every file again; exit 1 if something is damaged or missing."""
    wanted = names or [n for n in data.NAMES if data.folder_of(n).exists()]
    found = [{"name": name, "problems": data.verify(name)} for name in wanted]
    show.emit(found, _problems, json=json)
    if not found and not json:
        typer.echo(f"nothing to verify in {data.cache_folder()}")
    raise typer.Exit(int(any(one["problems"] for one in found)))


def _problems(found: dict[str, Any]) -> show.Words:
    problems = [f"  {problem}" for problem in found["problems"]]
    return [f"{found['name']}: {'' if problems else 'whole'}".rstrip(), *problems]
