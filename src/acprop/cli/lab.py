"""`acprop lab …`: the paper's theory, run."""

import json as json_module
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from acprop.checks import user_values
from acprop.cli import show, stopping
from acprop.cli.axes import inside, numbers, whole, words
from acprop.lab.simulate import Sweep
from acprop.records import Record, write
from acprop.rule import Convention as RuleConvention
from acprop.rule import convention as convention_named

app = typer.Typer(
    help="The paper's convergence theory as something one can run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Problem = Annotated[str, typer.Option(help="dense (Eq. 1) or sparse (Eq. 2)")]
Optimizers = Annotated[str, typer.Option(help="names, with commas")]
Delay = Annotated[int | None, typer.Option(help="delay n of an asynchronous one")]
Beta1 = Annotated[str, typer.Option(help="one or several β1")]
Beta2 = Annotated[str, typer.Option(help="one or several β2")]
Periods = Annotated[
    str, typer.Option("--periods", "--period", help="P, one or several")
]
Convention = Annotated[
    str, typer.Option(help="paper, authors, optax, guarded, torch or torch-rmsprop")
]
Eps = Annotated[float | None, typer.Option(help="ε; default: the convention's")]
Json = Annotated[bool, typer.Option("--json", help="print records, one a line")]
Plot = Annotated[Path | None, typer.Option(help="draw to this file (png, svg, pdf)")]


def _find_convention(name: str) -> RuleConvention:
    with user_values():
        return convention_named(name)


@app.command()
def verify(
    claims: Annotated[list[str] | None, typer.Argument(help="default: all")] = None,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option(help="also write the records here")
    ] = None,
) -> None:
    """Check every lemma, theorem and toy figure; exit 1 if a claim of ours fails."""
    with stopping.saying("stopped"):
        from acprop.reproduce.claims import check_claims

        verdicts = check_claims(
            claims or [], partial(show.verdict, json=json), quiet=json
        )
        if out is not None:
            write(out, verdicts)
        if not json:
            show.summary(verdicts)
        broken = [v for v in verdicts if v.owner == "ours" and v.verdict == "fails"]
        raise typer.Exit(int(bool(broken)))


@app.command()
def region(
    problem: Problem = "dense",
    optimizer: Optimizers = "acprop-paper",
    beta1: Beta1 = "0.9",
    periods: Periods = "3,5,10,20,40",
    beta2: Beta2 = "0.1,0.5,0.9,0.99,0.999",
    alpha0: Annotated[str, typer.Option()] = "1e-5,1e-4,1e-3,1e-2,1e-1,1",
    steps: Annotated[int, typer.Option(help="the horizon")] = 10_000,
    eta: Annotated[float, typer.Option(help="the rate of step t is α0·t^-η")] = 0.5,
    x0: Annotated[float | None, typer.Option(help="default: the paper's")] = None,
    delay: Delay = None,
    convention: Convention = "paper",
    eps: Eps = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Where an optimizer converges: at a horizon and in the limit."""
    from acprop.lab.regions import regions
    from acprop.lab.trajectories import delayed

    found: list[Record] = []
    for b, spelling in product(
        numbers("beta1", beta1), words("convention", convention)
    ):
        sweep = Sweep(
            methods=tuple(delayed(n, delay) for n in words("optimizer", optimizer)),
            beta1=inside("beta1", (b,))[0],
            beta2=inside("beta2", numbers("beta2", beta2)),
            alpha0=numbers("alpha0", alpha0),
            convention=_find_convention(spelling),
            eps=eps,
            steps=steps,
            tail=min(steps, 1000),
            eta=eta,
        )
        found += regions(problem, whole("periods", periods), sweep, x0=x0)
    show.emit(found, json=json, plot=plot)


@app.command()
def boundary(
    problem: Problem = "dense",
    optimizer: Optimizers = "adam",
    beta1: Beta1 = "0.9",
    periods: Periods = "3,5,10,20,40",
    delay: Delay = None,
    convention: Convention = "paper",
    eps: Eps = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """The exact border: the β2 at which the drift changes sign."""
    from acprop.lab.boundaries import boundary as find
    from acprop.lab.trajectories import delayed

    found: list[Record] = [
        find(
            problem,
            delayed(name, delay),
            beta1=b,
            periods=whole("periods", periods),
            convention=_find_convention(spelling),
            eps=eps,
        )
        for name, b, spelling in product(
            words("optimizer", optimizer),
            inside("beta1", numbers("beta1", beta1)),
            words("convention", convention),
        )
    ]
    show.emit(found, json=json, plot=plot)


@app.command()
def trajectory(
    problem: Annotated[
        str, typer.Option(help="dense, sparse, stochastic or absolute (|x|)")
    ] = "dense",
    optimizer: Optimizers = "acprop-paper,adam",
    beta1: Beta1 = "0.9",
    beta2: Beta2 = "0.9",
    periods: Periods = "10",
    alpha0: Annotated[str, typer.Option()] = "0.1",
    steps: Annotated[int, typer.Option()] = 4000,
    eta: Annotated[float, typer.Option(help="0 is a constant rate")] = 0.5,
    x0: Annotated[float | None, typer.Option(help="default: the paper's")] = None,
    delta: Annotated[float, typer.Option(help="δ of the stochastic problem")] = 1.0,
    seed: Annotated[int, typer.Option(help="of the stochastic problem")] = 0,
    delay: Delay = None,
    convention: Convention = "paper",
    eps: Eps = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """x over the steps, one curve for each combination of the lists."""
    from acprop.lab.trajectories import compare

    curves = compare(
        problem,
        optimizers=words("optimizer", optimizer),
        beta1=inside("beta1", numbers("beta1", beta1)),
        beta2=inside("beta2", numbers("beta2", beta2)),
        periods=whole("periods", periods),
        alpha0=numbers("alpha0", alpha0),
        conventions=words("convention", convention),
        steps=steps,
        eta=eta,
        x0=x0,
        delta=delta,
        seed=seed,
        delay=delay,
        eps=eps,
    )
    show.emit([curves], json=json, plot=plot)


@app.command()
def limits(
    problem: Problem = "dense",
    periods: Periods = "10",
    beta1: Beta1 = "0.9",
    beta2: Beta2 = "0.99",
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Closed forms of m, v, s around kP: as derived for Algorithm 2, as printed."""
    from acprop.lab.forms import periodic_state, state_curves

    tables: list[dict[str, Any]] = []
    pictures: list[Record] = []
    for P, b1, b2 in product(
        whole("periods", periods),
        inside("beta1", numbers("beta1", beta1)),
        inside("beta2", numbers("beta2", beta2)),
    ):
        tables.append(periodic_state(problem, P, b1, b2))
        pictures.append(state_curves(problem, P, b1, b2))
    for table in tables:
        if json:
            typer.echo(json_module.dumps(table, ensure_ascii=False, allow_nan=False))
        else:
            show.limits(table)
    if plot is not None:
        from acprop.report.figures import draw

        draw(pictures, plot)


@app.command()
def bound(
    problem: Annotated[
        str, typer.Option(help="cosine, cosine-noisy, ratio, well, waves …")
    ] = "cosine",
    theorem: Annotated[str, typer.Option(help="4.1 or momentum")] = "4.1",
    optimizer: Annotated[
        str | None, typer.Option(help="default: what the theorem speaks about")
    ] = None,
    alpha0: Annotated[str, typer.Option(help="one or several")] = "0.01",
    eta: Annotated[str, typer.Option(help="one or several")] = "0.5",
    steps: Annotated[str, typer.Option(help="T, one or several")] = "100",
    beta1: Beta1 = "0.9",
    beta2: Beta2 = "0.999",
    eps: Annotated[float, typer.Option(help="ε, outside the root")] = 1.0,
    seeds: Annotated[int, typer.Option()] = 16,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """A convergence theorem as printed, as corrected, and what a run does."""
    from acprop.lab.bounds import bound as compare
    from acprop.lab.bounds import bound_curves
    from acprop.lab.descent import WalkSettings

    reports = [
        compare(
            problem,
            theorem,  # type: ignore[arg-type]  # checked there
            WalkSettings(a, e, T, eps, b1, b2, seeds=seeds),
            optimizer,
        )
        for a, e, T, b1, b2 in product(
            numbers("alpha0", alpha0),
            numbers("eta", eta),
            whole("steps", steps),
            numbers("beta1", beta1),
            numbers("beta2", beta2),
        )
    ]
    for report in reports:
        if json:
            typer.echo(json_module.dumps(report.plain(), allow_nan=False))
        else:
            show.bound(report.plain())
    if plot is not None:
        from acprop.report.figures import draw

        draw([bound_curves(report) for report in reports], plot)


@app.command()
def figures(
    names: Annotated[list[str] | None, typer.Argument(help="default: all")] = None,
    out: Annotated[Path, typer.Option(help="folder for records and pictures")] = Path(
        "figures"
    ),
    form: Annotated[str, typer.Option("--format", help="png, svg or pdf")] = "png",
) -> None:
    """Draw the paper's toy figures at its own scale, from records kept beside them."""
    from acprop.reproduce.figures import draw_figures

    n = draw_figures(names or [], out, form)
    show.console.print(f"{n} figures in {out}")
