"""`acprop lab …`: the paper's theory, run."""

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from acprop.checks import between, user_values
from acprop.cli import show
from acprop.cli.options import Json, file_to_write, folder_to_write, listed
from acprop.lab.simulate import Sweep
from acprop.records import write
from acprop.rule import Convention as RuleConvention
from acprop.rule import convention as convention_named

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
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
Plot = Annotated[Path | None, file_to_write("draw to this file (png, svg, pdf)")]


def _conventions(text: str) -> list[RuleConvention]:
    with user_values():
        return [convention_named(name) for name in listed("convention", text)]


def _betas(name: str, text: str) -> tuple[float, ...]:
    return tuple(between(name, value) for value in listed(name, text, float))


@app.command()
def verify(
    claims: Annotated[list[str] | None, typer.Argument(help="default: all")] = None,
    json: Json = False,
    out: Annotated[Path | None, file_to_write("also write the records here")] = None,
) -> None:
    """Check every lemma, theorem and toy figure; exit 1 if a claim of ours fails."""
    from acprop.reproduce.claims import check_claims, defects

    verdicts = check_claims(
        claims or [], lambda v: show.emit([v], show.verdict, json=json), quiet=json
    )
    if out is not None:
        write(out, verdicts)
    if not json:
        show.emit([verdicts], show.summary, json=False)
    raise typer.Exit(int(bool(defects(verdicts))))


@app.command()
def region(
    problem: Problem = "dense",
    optimizer: Optimizers = "acprop-paper",
    beta1: Beta1 = "0.9",
    periods: Periods = "3,5,10,20,40",
    beta2: Beta2 = "0.1,0.5,0.9,0.99,0.999",
    alpha0: str = "1e-5,1e-4,1e-3,1e-2,1e-1,1",
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

    found = [
        record
        for b, spelling in product(_betas("beta1", beta1), _conventions(convention))
        for record in regions(
            problem,
            listed("periods", periods, int),
            Sweep(
                methods=tuple(
                    delayed(n, delay) for n in listed("optimizer", optimizer)
                ),
                beta1=b,
                beta2=_betas("beta2", beta2),
                alpha0=listed("alpha0", alpha0, float),
                convention=spelling,
                eps=eps,
                steps=steps,
                tail=min(steps, 1000),
                eta=eta,
            ),
            x0=x0,
        )
    ]
    show.draw(found, plot)
    show.emit(found, show.region, json=json)


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

    found = [
        find(
            problem,
            delayed(name, delay),
            beta1=b,
            periods=listed("periods", periods, int),
            convention=spelling,
            eps=eps,
        )
        for name, b, spelling in product(
            listed("optimizer", optimizer),
            _betas("beta1", beta1),
            _conventions(convention),
        )
    ]
    show.draw(found, plot)
    show.emit(found, show.boundary, json=json)


@app.command()
def trajectory(
    problem: Annotated[
        str, typer.Option(help="dense, sparse, stochastic or absolute (|x|)")
    ] = "dense",
    optimizer: Optimizers = "acprop-paper,adam",
    beta1: Beta1 = "0.9",
    beta2: Beta2 = "0.9",
    periods: Periods = "10",
    alpha0: str = "0.1",
    steps: int = 4000,
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
        optimizers=listed("optimizer", optimizer),
        beta1=_betas("beta1", beta1),
        beta2=_betas("beta2", beta2),
        periods=listed("periods", periods, int),
        alpha0=listed("alpha0", alpha0, float),
        conventions=listed("convention", convention),
        steps=steps,
        eta=eta,
        x0=x0,
        delta=delta,
        seed=seed,
        delay=delay,
        eps=eps,
    )
    show.draw([curves], plot)
    show.emit([curves], show.curves, json=json)


@app.command()
def limits(
    problem: Problem = "dense",
    period: Annotated[int, typer.Option("--period", "--periods", help="P")] = 10,
    beta1: float = 0.9,
    beta2: float = 0.99,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Closed forms of m, v, s around kP: as derived for Algorithm 2, as printed."""
    from acprop.lab.forms import periodic_state, state_curves

    found = periodic_state(problem, period, beta1, beta2)
    show.draw([state_curves(problem, period, beta1, beta2)], plot)
    show.emit([found], show.limits, json=json)


@app.command()
def bound(
    problem: Annotated[
        str, typer.Option(help="cosine, cosine-noisy, ratio, well, waves …")
    ] = "cosine",
    theorem: Annotated[str, typer.Option(help="4.1 or momentum")] = "4.1",
    optimizer: Annotated[
        str | None, typer.Option(help="default: what the theorem speaks about")
    ] = None,
    alpha0: float = 0.01,
    eta: float = 0.5,
    steps: Annotated[int, typer.Option(help="T")] = 100,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: Annotated[float, typer.Option(help="ε, outside the root")] = 1.0,
    seeds: int = 16,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """A convergence theorem as printed, as corrected, and what a run does."""
    from acprop.lab.bounds import bound as compare
    from acprop.lab.bounds import bound_curves
    from acprop.lab.descent import WalkSettings

    settings = WalkSettings(alpha0, eta, steps, eps, beta1, beta2, seeds=seeds)
    report = compare(problem, theorem, settings, optimizer)  # pyright: ignore
    if plot is not None:
        show.draw([bound_curves(report)], plot)
    show.emit([report.plain()], show.bound, json=json)


@app.command()
def figures(
    names: Annotated[list[str] | None, typer.Argument(help="default: all")] = None,
    out: Annotated[Path, folder_to_write("folder for records and pictures")] = Path(
        "figures"
    ),
    form: Annotated[str, typer.Option("--format", help="png, svg or pdf")] = "png",
) -> None:
    """Draw the paper's toy figures at its own scale, from records kept beside them."""
    from acprop.reproduce.figures import draw_figures

    n = draw_figures(names or [], out, form)
    show.console.print(f"{n} figures in {out}")
