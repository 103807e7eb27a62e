"""What is wrong in a file that a person wrote, by its key."""

import pytest
from pydantic import Field

from acprop.bench.documents import Mistake, Strict, load


class Row(Strict):
    weight: float = 1.0


class Table(Strict):
    name: str = ""
    rows: list[Row] = Field(default_factory=list)


def read(tmp_path, text, mistakes=lambda _: ()):
    path = tmp_path / "a.toml"
    path.write_bytes(text)
    return load(path, Table, name="a.toml", what="study", mistakes=mistakes)


BAD = [
    (b'a = "\xff"\n', "must be in UTF-8, got .*0xff"),
    (b"a = " + b"[" * 100_000, "must be a valid study, got .*recursion"),
    (b"a = ", "must be a valid study, got Invalid value .at end"),
    (
        b"[[rows]]\n[[rows]]\nwieght = 1.0",
        r"must be a valid study, got rows\[1\].wieght: no such key; did you mean",
    ),
    (b"name = 1", "must be a valid study, got name: Input should be a valid string"),
]


@pytest.mark.parametrize(("content", "why"), BAD, ids=range(len(BAD)))
def test_a_mistake_is_named_by_its_file_and_key(content, why, tmp_path):
    with pytest.raises(ValueError, match=f"^a.toml {why}"):
        read(tmp_path, content)


def test_mistakes_that_types_do_not_show_are_named_together(tmp_path):
    found = [Mistake(("rows", 0), "too light"), Mistake((), "and a whole")]
    with pytest.raises(ValueError, match=r"got rows\[0\]: too light; and a whole$"):
        read(tmp_path, b"[[rows]]", lambda _: found)
