"""The chooser of rows: a table that lost a pair would hide a fault in silence."""

from itertools import combinations, product

from .pairs import pairwise

NAMES = "abcde"
TABLE = list(product(range(3), repeat=5))


def values(row):
    return dict(zip(NAMES, row, strict=True))


def pairs(rows):
    return {
        pair for row in rows for pair in combinations(sorted(values(row).items()), 2)
    }


def test_every_pair_of_the_table_is_in_the_chosen_rows():
    assert pairs(pairwise(TABLE, values)) == pairs(TABLE)


def test_few_rows_are_chosen():
    """9 is the least that two options of three values need; 243 is all of them."""
    assert 9 <= len(pairwise(TABLE, values)) <= 20


def test_what_no_row_has_is_not_asked_for():
    """Such as a reduction in the native kernel."""
    allowed = [row for row in TABLE if row[0] != row[1]]
    chosen = pairwise(allowed, values)
    assert set(chosen) <= set(allowed)
    assert pairs(chosen) == pairs(allowed)


def test_the_choice_is_always_the_same_and_in_order():
    chosen = pairwise(TABLE, values)
    assert chosen == pairwise(TABLE, values)
    assert chosen == sorted(chosen)


def test_of_two_options_nothing_can_be_left_out():
    table = list(product("ab", "xyz"))
    assert pairwise(table, lambda row: {"one": row[0], "two": row[1]}) == table
