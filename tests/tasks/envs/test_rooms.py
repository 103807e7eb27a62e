"""The four rooms: the published plan, its moves, and gymnasium's opinion of them."""

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from acprop.tasks.envs import make, rooms

ROOT = Path(__file__).parents[3]
# Fig. 2 of Sutton, Precup and Singh (1999): the lower right room is smaller by a row.
PICTURE = [
    "wwwwwwwwwwwww",
    "w     w     w",
    "w     w     w",
    "w           w",
    "w     w     w",
    "w     w     w",
    "ww wwww     w",
    "w     www www",
    "w     w     w",
    "w     w     w",
    "w           w",
    "w     w     w",
    "wwwwwwwwwwwww",
]
FREE = [(r, c) for r in range(13) for c in range(13) if PICTURE[r][c] == " "]
HALLWAYS = {(3, 6), (6, 2), (7, 9), (10, 6)}
ROOMS = [25, 30, 25, 20]  # cells: 5×5 left, 6×5 upper right, 4×5 lower right


def test_the_plan_is_the_published_one():
    assert [tuple(cell) for cell in rooms.CELLS] == FREE
    assert len(FREE) == 104
    assert tuple(rooms.CELLS[rooms.GOAL]) == (7, 9)


def test_without_its_hallways_the_plan_falls_into_four_rooms():
    left, sizes = set(FREE) - HALLWAYS, []
    while left:
        border, room = [min(left)], set()
        while border:
            here = border.pop()
            if here in left:
                left.remove(here)
                room.add(here)
                border += [(here[0] + r, here[1] + c) for r, c in rooms.MOVES]
        sizes.append(len(room))
    assert sorted(sizes) == sorted(ROOMS)


def walked(cell, direction):
    """A step on the picture, in plain Python."""
    row, column = FREE[cell]
    down, right = [(-1, 0), (1, 0), (0, -1), (0, 1)][direction]
    there = (row + down, column + right)
    return FREE.index(there) if there in FREE else cell


@given(
    st.lists(
        st.tuples(
            st.integers(0, 103), st.integers(0, 3), st.floats(0, 1, exclude_max=True)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_a_move_is_that_of_a_plain_walk(walkers):
    """The first third of chance is the slips', a ninth for each other direction."""
    cell, action, chance = map(np.array, zip(*walkers, strict=True))
    expected = []
    for here, wanted, luck in walkers:
        others = [(wanted + turn) % 4 for turn in (1, 2, 3)]
        slipped = [luck < 1 / 9, luck < 2 / 9, luck < 1 / 3]
        went = [d for d, is_so in zip(others, slipped, strict=True) if is_so]
        expected.append(walked(here, (went or [wanted])[0]))
    assert rooms.moved(cell, action, chance).tolist() == expected


def test_slips_are_as_frequent_as_published():
    chance = (np.arange(9000) + 0.5) / 9000
    cell = np.full(9000, rooms.cell_at(2, 3))
    seen = Counter(rooms.moved(cell, np.full(9000, 3), chance).tolist())
    right = rooms.cell_at(2, 4)
    assert seen.pop(right) == 6000
    assert set(seen.values()) == {1000}


def test_an_episode_begins_in_every_cell_but_the_goal():
    cells = rooms.start((np.arange(103) + 0.5) / 103)
    assert sorted(cells) == [c for c in range(104) if c != rooms.GOAL]


def test_walkers_are_rewarded_at_the_goal_and_begin_anew():
    walkers = make("four-rooms", 2, seed=0)
    north = rooms.cell_at(6, 9)
    rewards = []
    for _ in range(30):
        walkers.seen = np.array([north, rooms.cell_at(1, 1)])
        moved = walkers.step(np.array([1, 0]))
        is_there = moved.seen == rooms.GOAL
        assert moved.is_final.tolist() == moved.has_ended.tolist() == is_there.tolist()
        assert moved.reward.tolist() == is_there.astype(float).tolist()
        assert (walkers.seen != rooms.GOAL).all()
        rewards.append(moved.reward[0])
    assert 10 < sum(rewards) < 30  # two thirds of 30


def test_an_episode_ends_at_its_limit_and_that_is_not_final():
    walkers = make("four-rooms", 4, seed=0, limit=3)
    corner = np.full(4, rooms.cell_at(1, 1))
    ended = []
    for _ in range(7):
        walkers.seen = corner
        moved = walkers.step(np.zeros(4, int))
        assert not moved.is_final.any()
        ended.append(moved.has_ended.all())
    assert ended == [False, False, True, False, False, True, False]


def test_the_picture_of_the_documents_shows_the_plan_and_its_goal():
    with Image.open(ROOT / "docs/figures/four-rooms.png") as picture:
        cells = np.asarray(picture)[8::16, 8::16].astype(int)
    dark = cells.max(-1) < 100
    np.testing.assert_array_equal(dark, rooms.WALLS)
    green = cells[..., 1] > cells[..., [0, 2]].max(-1) + 50
    assert np.argwhere(green).tolist() == rooms.CELLS[[rooms.GOAL]].tolist()
