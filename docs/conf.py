"""How `make docs` builds the documentation: Sphinx, MyST and furo.

Pages are read on a repository's page and on the site. There, what leaves docs/ is led
back into it, formulas are MathML by the report's own translator, docstrings are the
plain text that `help()` shows, and colours are those of the report.
"""

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from acprop.report import mathml

ROOT = Path(__file__).resolve().parents[1]
STYLE = Path(mathml.__file__).parent / "templates" / "style.css"

project = "acprop"
author = "the acprop developers"
copyright = author  # noqa: A001, the name that Sphinx has for it
version = release = version_of("acprop")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_*"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # "m" is a value
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "acprop"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_math_renderer = "mathml"
html_show_sphinx = html_copy_source = html_show_copyright = False
html_use_index = html_domain_indices = False  # the search finds more
templates_path = ["_templates"]
pygments_style, pygments_dark_style = "default", "github-dark"


def colours(text: str) -> dict[str, str]:
    """Furo's variables from the first block of the report's."""
    found = dict(re.findall(r"--([\w-]+): (#\w+)", text))
    return {
        "color-background-primary": found["paper"],
        "color-background-secondary": found["card"],
        "color-background-border": found["rule"],
        "color-foreground-primary": found["ink"],
        "color-foreground-secondary": found["quiet"],
        "color-brand-primary": found["link"],
        "color-brand-content": found["link"],
        "color-brand-visited": found["link"],
        "font-stack": re.search(r"font: [^ ]+ ([^;]+);", STYLE.read_text())[1],
    }


_light, _, _dark = STYLE.read_text("utf-8").partition("prefers-color-scheme: dark")
html_theme_options = {
    "announcement": "the bar that _templates/page.html writes",
    "light_css_variables": colours(_light),
    "dark_css_variables": colours(_dark.partition("}")[0]),
}

# Pages of the repository that are pages of the site too; docs/NAME.md stands for each.
SHARED = {
    "architecture": "ARCHITECTURE.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "measuring": "perf/README.md",
    "security": "SECURITY.md",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]*)")


def lead(page: str, target: str) -> str:
    """Where a link of a page of the repository leads on the site."""
    path = (ROOT / page).parent.joinpath(target).resolve().relative_to(ROOT)
    inside = {path: f"{name}.md" for name, path in SHARED.items()}
    if str(path) in inside:
        return inside[str(path)]
    if path.parts[0] == "docs":
        return path.relative_to("docs").as_posix()
    if str(path) == "README.md":
        return "index.md"
    if (ROOT / path).is_dir():  # the site has what was made of it
        return "results.md" if path.parts[0] == "results" else "contributing.md"
    return f"../{path.as_posix()}"


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Take a shared page's own text, and lead every link back into the site."""
    del app
    page = SHARED.get(name, f"docs/{name}.md")
    text = (ROOT / page).read_text("utf-8") if name in SHARED else source[0]
    source[0] = LINK.sub(lambda m: m[1] and lead(page, m[1]), text)


def rst(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]):
    """A docstring's plain text as reStructuredText: formulas and tables stay as set."""
    del app, what, name, obj, options
    made: list[str] = []
    is_args = False
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if block.startswith("Args:\n"):
            is_args, block = True, re.sub("^    ", "", block[6:], flags=re.M)
        if is_args or re.match(r"[\w, ]+: .*\n    ", block):
            items = re.split(r"\n(?! )", block)
            made += [f":param {' '.join(inline(item).split())}" for item in items]
        elif re.search(r"^ |\S {3,}\S", block, re.M):
            made += ["::", "", *(f"    {line}" for line in block.splitlines())]
        else:
            made += inline(block).splitlines()
        made.append("")
    lines[:] = made


def inline(text: str) -> str:
    """Escape what reStructuredText would read into plain text."""
    parts = re.split(r"(`[^`]+`)", text)
    escaped = [re.sub(r"([*|\\]|(?<=\w)_(?=\W|$))", r"\\\1", p) for p in parts[::2]]
    linked = [re.sub(r"docs/([\w-]+)\.md", r":doc:`\1`", part) for part in escaped]
    parts[::2], parts[1::2] = linked, [f"`{part}`" for part in parts[1::2]]
    return "".join(parts)


def latex(node: nodes.Element) -> str:
    """A formula's text, which may be broken anywhere in its page."""
    return " ".join(node.astext().split())


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml.inline(latex(node)))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{mathml.block(latex(node))}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", rst)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
