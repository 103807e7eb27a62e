"""Write docs/start.ipynb from docs/start.md: the same text, the same code.

    python scripts/notebook.py

Text becomes cells of Markdown; a block of Python becomes a cell of code. Commands of a
shell stay text: a notebook's reader has installed the package already.
"""

import json
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, NOTEBOOK = DOCS / "start.md", DOCS / "start.ipynb"
BLOCK = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


def notebook(page: str) -> str:
    """A page as a notebook of format 4.5, without outputs."""
    cells: list[dict[str, object]] = []
    for i, text in enumerate(BLOCK.split(page)):
        if not text.strip():
            continue
        is_code = i % 2 == 1
        more = {"execution_count": None, "outputs": []} if is_code else {}
        cells.append(
            {
                "id": f"cell-{len(cells)}",
                "cell_type": "code" if is_code else "markdown",
                "metadata": {},
                "source": text.strip().splitlines(keepends=True),
                **more,
            }
        )
    about = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        }
    }
    made = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text("utf-8")), "utf-8")
