"""Where a key stands in a file that a person wrote."""

import pytest

from acprop.bench.documents import Strict, line_of, load

TEXT = """\
# a comment = not a key
name = "a # b [[x]]"
list = [
  1, # in = side
  2,
]
plain.dotted = 1
[table]
"quoted key" = { inner = 1, other = "x = y" }
[[rows]]
a = 1
[[rows]]
a = 2
[rows.deep]
b = 3
[last]
"""
PLACES = [
    (("name",), 2),
    (("list",), 3),
    (("list", 1), 3),
    (("table",), 8),
    (("table", "quoted key"), 9),
    (("table", "quoted key", "inner"), 9),
    (("table", "absent"), 8),
    (("rows", 0, "a"), 11),
    (("rows", 1), 12),
    (("rows", 1, "a"), 13),
    (("rows", 1, "deep", "b"), 15),
    (("last",), 16),
    (("nowhere",), None),
    ((), None),
]


@pytest.mark.parametrize(("place", "line"), PLACES)
def test_a_key_is_found_in_its_line(place, line):
    assert line_of(TEXT, place) == line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'a = 1\nb = "\xff"\n', "must be in UTF-8, got another byte: line 2: .*0xff"),
        (b"a = " + b"[" * 100_000, "must be a valid study, got .*recursion"),
        (b"a = ", "must be a valid study, got Invalid value .at end"),
    ],
    ids=["bytes", "brackets", "cut off"],
)
def test_what_is_no_toml_is_named_by_its_file(content, why, tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^a.toml {why}"):
        load(path, Strict, name="a.toml", what="study", mistakes=lambda _: ())
