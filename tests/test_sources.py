"""The hash of the code that a result depends on: no more, and no less."""

import pytest

from acprop.sources import digest

FILES = {
    "__init__.py": "from acprop.other import everything\n",
    "lab/__init__.py": "",
    "lab/claims.py": "from acprop import rule\nfrom acprop.native import step\n",
    "native/__init__.py": "def step():\n    return 1\n",
    "native/step.c": "int step(void) { return 1; }\n",
    "native/table.json": "[1]\n",
    "native/sets.toml": "a = 1\n",
    "rule.py": "def names():\n    import acprop.late\n    return 1\n",
    "late.py": "A = 1\n",
    "other.py": "A = 1\n",
}
SAME = [
    ("rule.py", "# why\ndef names():\n  'What.'\n  import acprop.late\n  return 1"),
    ("late.py", '"""Its subject."""\n\nA = 1  # one\n'),
    ("native/step.c", "/* one */\nint step(void) { // still\n  return 1; }\n"),
    ("other.py", "A = 2\n"),
    ("__init__.py", ""),
]  # fmt: skip
DIFFERENT = [
    ("late.py", "A = 2\n"),
    ("rule.py", "def names():\n    import acprop.late\n    return 2\n"),
    ("native/__init__.py", "def step():\n    return '  '\n"),
    ("native/step.c", "int step(void) { return 2; }\n"),
    ("native/table.json", "[2]\n"),
    ("native/sets.toml", "a = 2\n"),
]


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(("name", "text"), SAME)
def test_comments_docstrings_and_code_that_is_not_reached_change_nothing(
    package, name, text
):
    before = digest("acprop.lab.claims", package=package)
    (package / name).write_text(text)
    assert digest("acprop.lab.claims", package=package) == before


@pytest.mark.parametrize(("name", "text"), DIFFERENT)
def test_code_and_data_that_are_reached_change_it(package, name, text):
    before = digest("acprop.lab.claims", package=package)
    (package / name).write_text(text)
    assert digest("acprop.lab.claims", package=package) != before


def test_two_spaces_in_a_string_are_not_one(package):
    (package / "late.py").write_text("A = 'a b'\n")
    before = digest("acprop.lab.claims", package=package)
    (package / "late.py").write_text("A = 'a  b'\n")
    assert digest("acprop.lab.claims", package=package) != before
