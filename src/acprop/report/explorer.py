"""The explorer: a page on which a reader turns the knobs of the paper's problems.

One HTML file that needs no network, no server and no build: `scripts/` are plain
JavaScript modules, which a browser does not load from disk, so they are joined to one
inline script. The page's policy allows that script and that style, by their hashes,
and nothing else.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from acprop import files
from acprop.checks import UserError
from acprop.report.regions import CONVERGES, DIVERGES
from acprop.report.style import OPTIMIZERS, display, for_dark
from acprop.report.templating import environment, policy

__all__ = ["SCRIPTS", "write_explorer"]

SCRIPTS = Path(__file__).parent / "scripts"
# What the page can draw, in the order of its list; a test compares it with the modules.
METHODS = (
    "acprop",
    "acprop-paper",
    "adashift",
    "adam",
    "rmsprop",
    "adabelief",
    "rmsprop-centered",
    "acprop-before",
    "acprop-after",
    "amsgrad",
    "avagrad",
    "adopt",
    "sgd",
)
# Lines differ in their dashes too, for readers who see no colours.
DASHES = ("none", "7 3", "2 2.5", "9 3 2 3", "4 2", "12 3")

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) (\w+))", re.MULTILINE)


def write_explorer(out: Path, pages: Mapping[str, str] | None = None) -> Path:
    """Write out/explorer.html; return its path.

    pages: those of the report around it, if there is one, by address.
    """
    made = environment()
    script = join_modules("main")
    css = [made.get_template(name).render() for name in ("style.css", "explorer.css")]
    style = "\n".join([*css, _colours()])
    page = made.get_template("explorer.html").render(
        script=_inline("script", script),
        style=_inline("style", style),
        policy=policy("data:", style=style, script=script),  # the empty icon
        methods=[(name, display(name)) for name in METHODS],
        default=display("acprop"),
        pages=pages or {},
        here="explorer.html",
    )
    files.write(out / "explorer.html", page)
    return out / "explorer.html"


def join_modules(first: str) -> str:
    """The module and all it needs, as one script: each a function called once."""
    done: dict[str, str] = {}

    def take(name: str, needed_by: tuple[str, ...]) -> None:
        if name in needed_by:
            raise UserError(f"modules must not need each other, got {needed_by}")
        if name in done:
            return
        text = (SCRIPTS / f"{name}.js").read_text("utf-8")
        for _, other in _IMPORT.findall(text):
            take(other, (*needed_by, name))
        done[name] = _as_function(name, text)

    take(first, ())
    return '"use strict";\n' + "\n".join(done.values())


def _as_function(name: str, text: str) -> str:
    names: list[str] = _EXPORT.findall(text)
    body = _IMPORT.sub(lambda m: f"const {{{m[1]}}} = {_variable(m[2])};\n", text)
    body = _EXPORT.sub("", body)
    left = re.search(r"^\s*(import|export)\b.*", body, re.MULTILINE)
    if left:
        raise UserError(
            f"{name}.js must import and export by name only, got {left[0].strip()!r}"
        )
    exports = ", ".join(names)
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {exports} }};\n}})();"


def _variable(module: str) -> str:
    return "module_" + module.replace("-", "_")


def _inline(tag: str, text: str) -> Markup:
    """Our own text between tags; it must not close them, and is not escaped."""
    if re.search(rf"</{tag}|<!--", text, re.IGNORECASE):
        raise UserError(f"a {tag} must not hold </{tag} or <!--, got one that does")
    return Markup(text)


def _colours() -> str:
    """One colour and one dash for each optimizer, also on a dark page; of areas too."""
    light = [f":root {{ --converges: {CONVERGES}; --diverges: {DIVERGES}; }}"]
    dark = [f"  :root {{ --diverges: {for_dark(DIVERGES)}; }}"]
    for i, name in enumerate(METHODS):
        colour, dash = OPTIMIZERS[name][1], DASHES[i % len(DASHES)]
        light.append(f".c-{name} {{ --c: {colour}; --dash: {dash}; }}")
        dark.append(f"  .c-{name} {{ --c: {for_dark(colour)}; }}")
    block = "\n".join(dark)
    query = "@media (prefers-color-scheme: dark)"
    return "\n".join([*light, f"{query} {{\n{block}\n}}\n"])
