"""What is wrong in a file that a person wrote, by its key."""

import pytest
from pydantic import Field

from acprop.bench.documents import Strict, at, load


class Row(Strict):
    weight: float = 1.0


class Table(Strict):
    name: str = ""
    rows: list[Row] = Field(default_factory=list)


def read(tmp_path, text, check=bool):
    path = tmp_path / "a.toml"
    path.write_bytes(text)
    return load(path, Table, "a.toml", check)


BAD = [
    (b'a = "\xff"\n', "must be in UTF-8, got .*0xff"),
    (b"a = " + b"[" * 100_000, "must be a valid file, got .*recursion"),
    (b"a = ", "must be a valid file, got Invalid value .at end"),
    (
        b"[[rows]]\n[[rows]]\nwieght = 1.0",
        r"must be a valid file, got rows\[1\].wieght: no such key; did you mean",
    ),
    (b"name = 1", "must be a valid file, got name: Input should be a valid string"),
]


@pytest.mark.parametrize(("content", "why"), BAD, ids=range(len(BAD)))
def test_a_mistake_is_named_by_its_file_and_key(content, why, tmp_path):
    with pytest.raises(ValueError, match=f"^a.toml {why}"):
        read(tmp_path, content)


def test_what_types_do_not_show_is_named_by_its_key_too(tmp_path):
    def check(table):
        for i, row in enumerate(table.rows):
            with at("rows", i), at("weight"):
                if row.weight > 1:
                    raise TypeError("too heavy")

    with pytest.raises(ValueError, match=r"got rows\[1\]: weight: too heavy$"):
        read(tmp_path, b"[[rows]]\n[[rows]]\nweight = 2.0", check)
