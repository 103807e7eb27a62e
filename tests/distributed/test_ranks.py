"""Real ranks: a sharded training is the training of one process, AdamW's beside it."""

import pytest

from acprop import native

# The C kernel rounds every operation by itself; torch's own may round the end of a
# vector otherwise than its middle.
EXACT = 0.0 if native.load() is not None else 1e-6
ROUNDING = 1e-6

FSDP2 = [
    ("2", "fsdp2"),
    ("2", "fsdp2-clipped"),
    ("2", "fsdp2-mixed"),
    ("2", "fsdp2-bfloat16"),
    ("2", "fsdp2-offload"),
    ("4", "fsdp2"),
    ("4", "fsdp2-clipped"),
    ("4", "fsdp2-hybrid"),
]
TENSOR_PARALLEL = [("2", "tensor-parallel"), ("4", "tensor-parallel-fsdp2")]
FSDP1 = [("2", "fsdp1-flat"), ("2", "fsdp1")]
WHOLE = [("2", "ddp"), ("2", "zero-redundancy")]

each = pytest.mark.parametrize


@each(("ranks", "case"), [*FSDP2, *TENSOR_PARALLEL, *FSDP1, *WHOLE])
def test_ranks_train_as_one_process_does_as_closely_as_with_adamw(report, ranks, case):
    row = report[ranks][case]
    assert row["acprop"] <= max(row["adamw"], ROUNDING)
    assert row["moved"] > 0.01


@each(("ranks", "case"), [*FSDP2, *TENSOR_PARALLEL, *WHOLE])
def test_the_same_gradients_make_the_same_bits_however_they_are_sharded(
    report, ranks, case
):
    """Every element is advanced by itself."""
    row = report[ranks][case]
    assert row["replayed"] <= EXACT
    assert row["acprop"] <= EXACT or not row["same_gradients"]


@each(("ranks", "case"), [*FSDP2, *TENSOR_PARALLEL, *FSDP1, ("2", "ddp")])
def test_a_step_needs_no_collective(report, ranks, case):
    """The same counters saw those of the backward pass."""
    row = report[ranks][case]
    assert row["in_step"] == 0
    assert row["in_backward"] > 0


def test_the_counters_see_collectives_in_a_step_that_has_some(report):
    assert report["2"]["zero-redundancy"]["in_step"] > 0


@each("ranks", ["2", "4"])
def test_some_shards_are_empty(report, ranks):
    """Or the tests above would say less than they seem to."""
    sizes = zip(*report[ranks]["fsdp2"]["sizes"], strict=True)
    assert any(min(of) == 0 < max(of) for of in sizes)


def test_some_shards_are_uneven(report):
    sizes = zip(*report["2"]["fsdp2"]["sizes"], strict=True)
    assert any(0 < min(of) < max(of) for of in sizes)


KERNELS = [
    "foreach=False",
    "foreach=True",
    "fused=False",
    "fused=True",
    "convention=authors, foreach=True",
    "average=before, amsgrad=True",
    "average=after, center=m",
    "amsgrad=True, foreach=False",
    "delay=3",
]


@each("options", KERNELS)
def test_every_kernel_takes_shards(report, options):
    row = report["2"]["fsdp2-kernels"][options]
    assert row["replayed"] <= ROUNDING
    assert row["in_step"] == 0


@pytest.mark.skipif(native.load() is None, reason="it is the native kernel that does")
@each(
    ("what", "kept"),
    {
        "gradients": True,
        "state": False,
        "parameters": False,
        "new gradients": True,
    }.items(),
)
def test_addresses_of_shards_are_kept_until_one_has_moved(report, what, kept):
    """Gradients are new at every step; a state or a parameter that moved is found."""
    row = report["2"]["fsdp2-kept"][what]
    assert row["gap"] <= EXACT
    assert row["kept"] is kept


@each("options", ["fused=None", "fused=False"])
def test_large_shards_are_cut_up_without_a_collective(report, options):
    row = report["2"]["fsdp2-large"][options]
    assert row["replayed"] <= ROUNDING
    assert row["in_step"] == 0


@each("foreach", [False, True])
@each("what", ["max", "mean", "max and box"])
def test_a_rank_without_a_share_takes_part_in_what_needs_the_whole(
    report, what, foreach
):
    """It raised, and the others waited for it for ever."""
    assert report["2"]["reductions"][f"{what}, foreach={foreach}"] <= ROUNDING


# ---- gradients that are freed at once ------------------------------------------------


def test_released_gradients_of_shards_are_those_of_all_ranks(report):
    row = report["2"]["fsdp2-released"]
    assert row["acprop"] <= max(row["adamw"], ROUNDING)
    assert row["moved"] > 0.01


@each("when", ["refused", "refused late"])
def test_released_gradients_are_refused_where_ranks_hold_whole_parameters(report, when):
    """Under DDP each rank took steps of its own."""
    row = report["2"]["ddp-released"]
    assert row[when].startswith("release_gradients must be given sharded parameters")
    assert row["moved"] == 0


# ---- checkpoints ---------------------------------------------------------------------


@each("ranks", ["4", "1"])
def test_what_two_ranks_saved_continues_in_four_and_in_one(report, ranks):
    """torch.distributed.checkpoint; the interrupted run went on, and ends there too."""
    row = report[ranks]["loaded"]
    assert row["acprop"] <= max(row["adamw"], ROUNDING)


FORMS = [
    "float32 state",
    "8-bit state",
    "8-bit state, offloaded",
    "bfloat16 with Kahan's compensation",
    "bfloat16 rounded at random, 8-bit state",
]


@each("form", FORMS)
@each("ranks", ["4", "1"])
def test_twenty_losses_after_a_resume_in_other_ranks_are_those_of_the_unbroken_run(
    report, ranks, form
):
    """Two ranks saved. What is loaded has the same bits; a forward pass may round."""
    check_resumed(**report[ranks]["losses-resumed"][form])


def check_resumed(unbroken: dict, resumed: dict) -> None:
    assert resumed["bits"] == unbroken["bits"]
    assert len(resumed["losses"]) == 20
    expected = pytest.approx(unbroken["losses"], rel=0, abs=ROUNDING)
    assert resumed["losses"] == expected
    assert resumed["losses"][-1] < resumed["losses"][0] / 2


@each("kind", ["ACProp", "AdamW"])
def test_shards_switch_their_optimizer_as_one_process_does(report, kind):
    assert report["2"]["fsdp2-switched"][f"to {kind}"] <= ROUNDING


@each("how", ["flat", "original"])
def test_fsdp1_gathers_the_state_of_one_process_and_continues_from_it(report, how):
    row = report["2"]["fsdp1-resumed"]
    assert row[f"{how}, state"] <= ROUNDING
    assert row[how] <= ROUNDING


def test_a_consolidated_zero_redundancy_optimizer_continues_in_one_process(report):
    assert report["2"]["zero-redundancy-resumed"]["one process"] <= ROUNDING


# ---- 8-bit state ---------------------------------------------------------------------


def test_shards_hold_the_small_state_of_one_process(report):
    """Blocks lie within rows, so shards of rows have the same codes and draw the same.

    Also of bfloat16 parameters that are rounded at random.
    """
    assert report["2"]["small-state"]["agree"]
