"""Where people name their optimizer: each project's own way of asking for it.

The project itself where it is installed (`make test-trainers`); otherwise a stand-in
with the interface that its documentation and its wheel have, written here.
"""

import ast
import copy
import importlib
import importlib.util
import runpy
import subprocess
import sys
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

import acprop

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WIDE = torch.float64


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def backward(model, step=0):
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(16, 4, generator=draw, dtype=next(model.parameters()).dtype)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    model.zero_grad()
    loss.backward()
    return loss


def train(model, optimizer, n_steps):
    losses = []
    for step in range(n_steps):
        losses.append(backward(model, step).item())
        optimizer.step()
    return losses


@pytest.fixture
def stand_in(monkeypatch):
    """Modules of these names; what imports them is imported anew."""

    def put(**names):
        for dotted, members in names.items():
            parts = dotted.split("__")
            for i in range(1, len(parts) + 1):
                name = ".".join(parts[:i])
                if name not in sys.modules:
                    monkeypatch.setitem(sys.modules, name, ModuleType(name))
            vars(sys.modules[".".join(parts)]).update(members)

    for name in ("axolotl", "torchtitan", "nemo"):
        monkeypatch.delitem(sys.modules, f"acprop.integrations.{name}", raising=False)
    return put


# ---- one file, without dependencies --------------------------------------------------


def walked(kind, dtype, n_steps=50, **options):
    model = small().to(dtype)
    opt = kind(model.parameters(), **options)
    train(model, opt, n_steps)
    return [p.detach().clone() for p in model.parameters()]


SINGLE = EXAMPLES / "acprop_single_file.py"
OPTIONS = [
    {"lr": 1e-2},
    {"lr": 3e-3, "betas": (0.8, 0.98), "weight_decay": 0.1},
    {"betas": (0.0, 0.9), "eps": 1e-8},
    {"betas": (0.9, 0.0)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_single_file_has_the_librarys_bits_in_float64(options):
    kind = runpy.run_path(str(SINGLE))["ACProp"]
    ours = walked(acprop.ACProp, WIDE, foreach=False, fused=False, **options)
    for a, b in zip(walked(kind, WIDE, **options), ours, strict=True):
        assert torch.equal(a, b)


def test_the_single_file_is_close_to_the_fast_kernels_in_float32():
    kind = runpy.run_path(str(SINGLE))["ACProp"]
    theirs, ours = (walked(k, torch.float32) for k in (kind, acprop.ACProp))
    for a, b in zip(theirs, ours, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5)


def test_the_single_file_needs_torch_alone_and_has_less_than_80_lines():
    text = SINGLE.read_text("utf-8")
    assert len(text.splitlines()) < 80
    modules = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else
            [alias.name for alias in node.names]
        )
    }  # fmt: skip
    assert modules == {"collections", "torch"}


def test_the_single_file_resumes_and_refuses_what_cannot_be():
    kind = runpy.run_path(str(SINGLE))["ACProp"]
    model = small().to(WIDE)
    opt = kind(model.parameters())
    train(model, opt, 3)
    other = small().to(WIDE)
    other.load_state_dict(model.state_dict())
    resumed = kind(other.parameters())
    resumed.load_state_dict(copy.deepcopy(opt.state_dict()))
    assert train(model, opt, 3) == train(other, resumed, 3)
    with pytest.raises(ValueError, match=r"betas must be in \[0, 1\), got"):
        kind(model.parameters(), betas=(0.9, 1.0))


# ---- Muon ----------------------------------------------------------------------------


def test_muon_beside_acprop_learns_and_resumes(tmp_path):
    main = runpy.run_path(str(EXAMPLES / "with_muon.py"))["main"]
    whole, losses = main(tmp_path)
    assert losses[-1] < 0.3 * losses[0]
    resumed, rest = main(tmp_path, resume=True)
    assert rest == losses[len(losses) // 2 :]
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


# ---- kohya's sd-scripts: a dotted path, and arguments as text ------------------------


def as_kohya_does(path, words, params, lr):
    """Its documented way: split at "=", `ast.literal_eval`, class by dotted path."""
    options = {}
    for word in words:
        key, value = word.split("=")
        options[key] = ast.literal_eval(value)
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)(params, lr=lr, **options)


def test_kohyas_scripts_find_it_by_its_dotted_path_and_text_arguments():
    words = ["weight_decay=0.01", "betas=0.9,0.99", "small_state=True"]
    words += ["convention='authors'"]
    opt = as_kohya_does("acprop.ACProp", words[:3], small().parameters(), 1e-4)
    group = opt.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (1e-4, 0.01)
    assert tuple(group["betas"]) == (0.9, 0.99)
    assert group["small_state"]
    paper = as_kohya_does("acprop.ACProp", words[3:], small().parameters(), 1e-4)
    assert paper.param_groups[0]["convention"] == "authors"


# ---- axolotl -------------------------------------------------------------------------


class BasePlugin:
    """The hooks of axolotl.integrations.base.BasePlugin that are ours, 0.19.0."""

    def create_optimizer(self, cfg, trainer):
        """None: axolotl goes on to its own."""

    def post_trainer_create(self, cfg, trainer):
        """Nothing."""


@pytest.fixture
def plugin(stand_in):
    stand_in(axolotl__integrations__base={"BasePlugin": BasePlugin})
    return importlib.import_module("acprop.integrations.axolotl").ACPropPlugin()


def trainer():
    args = SimpleNamespace(
        learning_rate=1e-2, weight_decay=0.1, adam_beta1=0.9, adam_beta2=0.98
    )
    return SimpleNamespace(model=small(), args=args, optimizer=None)


def test_axolotls_plugin_makes_the_optimizer_of_its_own_keys(plugin):
    opt = plugin.create_optimizer({"optim_args": {"small_state": True}}, trainer())
    assert isinstance(opt, acprop.ACProp)
    assert [group["weight_decay"] for group in opt.param_groups] == [0.1, 0.0]
    assert tuple(opt.param_groups[0]["betas"]) == (0.9, 0.98)
    assert opt.param_groups[0]["small_state"]


def test_axolotls_trainer_has_it_although_nothing_calls_the_hook(plugin):
    made = trainer()
    plugin.post_trainer_create({}, made)
    first = made.optimizer
    assert train(made.model, first, 30)[-1] < 0.5 * backward(small()).item()
    plugin.post_trainer_create({}, made)
    assert made.optimizer is first


# ---- torchtitan ----------------------------------------------------------------------


def torchtitan_stand_in():
    """A container of 0.3.0: groups by pattern, a factory for each optimizer's name."""

    @dataclass(kw_only=True, slots=True)
    class Config:
        param_groups: list = field(default_factory=list)

    class OptimizersContainer:
        @staticmethod
        def _resolve_optimizer_factory(name):
            if name != "AdamW":
                raise NotImplementedError(f"Optimizer {name} not added.")
            return torch.optim.AdamW

        def __init__(self, config, *, model_parts):
            self.optimizers = []
            for part in model_parts:
                for name, pattern, options in config.param_groups:
                    named = part.named_parameters()
                    params = [p for n, p in named if n.endswith(pattern)]
                    group = {"params": params, "fused": True, "foreach": False}
                    make = self._resolve_optimizer_factory(name)
                    self.optimizers.append(make([group | options]))

    OptimizersContainer.Config = Config
    return {"OptimizersContainer": OptimizersContainer}


def test_torchtitans_container_knows_the_family_beside_its_own(stand_in):
    stand_in(torchtitan__components__optimizer=torchtitan_stand_in())
    kind = importlib.import_module("acprop.integrations.torchtitan").FamilyContainer
    groups = [("AdamW", "bias", {"lr": 1e-2}), ("ACProp", "weight", {"lr": 2e-2})]
    made = kind(kind.Config(param_groups=groups), model_parts=[small()])
    adamw, ours = made.optimizers
    assert isinstance(adamw, torch.optim.AdamW)
    assert isinstance(ours, acprop.ACProp)
    # torchtitan's choice of torch's kernels is not ours: nothing is forced.
    assert (ours.param_groups[0]["fused"], ours.param_groups[0]["lr"]) == (None, 2e-2)
    with pytest.raises(NotImplementedError, match="Optimizer Lion not added"):
        kind._resolve_optimizer_factory("Lion")


# ---- NeMo ----------------------------------------------------------------------------


def test_nemos_registry_knows_it_by_name(stand_in):
    known, params = {}, {}

    def register_optimizer(name, optimizer, optimizer_params):
        if name in known:
            raise ValueError(f"Cannot override pre-existing optimizers: {name}")
        known[name] = optimizer
        params[f"{optimizer.__name__}_params"] = optimizer_params

    registry = {
        "AVAILABLE_OPTIMIZERS": known,
        "register_optimizer": register_optimizer,
    }
    base = make_dataclass("OptimizerParams", [("lr", float, field(default=None))])
    stand_in(
        nemo__core__optim__optimizers=registry,
        nemo__core__config__optimizers={"OptimizerParams": base},
    )
    nemo = importlib.import_module("acprop.integrations.nemo")
    nemo.register()
    nemo.register()  # a notebook's cell, run again
    opt = known["acprop"](small().parameters(), lr=1e-3, betas=[0.9, 0.98])
    assert isinstance(opt, acprop.ACProp)
    defaults = vars(params["ACProp_params"](lr=1e-2))
    made = known["acprop"](small().parameters(), **defaults)
    assert made.param_groups[0]["lr"] == 1e-2


# ---- AlgoPerf ------------------------------------------------------------------------


class CompleteError(Exception):
    """spec.TrainingCompleteError."""


class Workload:
    """What a submission may ask of a workload."""

    step_hint = 40

    def model_fn(
        self,
        params,
        augmented_and_preprocessed_input_batch,
        model_state,
        mode,
        rng,
        update_batch_norm,
        dropout_rate,
    ):
        del mode, rng, update_batch_norm, dropout_rate
        return params(augmented_and_preprocessed_input_batch["inputs"]), model_state

    def loss_fn(self, label_batch, logits_batch, mask_batch, label_smoothing):
        del mask_batch, label_smoothing
        errors = (logits_batch - label_batch).square().flatten()
        return {"summed": errors.sum(), "n_valid_examples": torch.tensor(len(errors))}


@pytest.fixture
def submission(stand_in):
    modes = SimpleNamespace(TRAIN=0)
    spec = {"TrainingCompleteError": CompleteError, "ForwardPassMode": modes}
    setup = {"pytorch_setup": lambda: (False, 0, torch.device("cpu"), 1)}
    stand_in(algoperf__spec=spec, algoperf__pytorch_utils=setup)
    sys.modules["algoperf"].spec = sys.modules["algoperf.spec"]
    path = EXAMPLES / "algoperf" / "submission.py"
    found = importlib.util.spec_from_file_location("submission", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


API = [
    "init_optimizer_state", "update_params", "prepare_for_eval", "get_batch_size",
    "data_selection",
]  # fmt: skip


def batches():
    step = 0
    while True:
        x = torch.randn(16, 4, generator=torch.Generator().manual_seed(step))
        yield {"inputs": x, "targets": x.sum(1, keepdim=True)}
        step += 1


def test_an_algoperf_submission_has_the_functions_and_trains_by_its_own_setting(
    submission,
):
    """Self-tuning: no hyper-parameters come from outside."""
    assert all(callable(getattr(submission, name)) for name in API)
    workload, model, queue = Workload(), small(), batches()
    state = submission.init_optimizer_state(workload, model, None, None, None)
    first, rates = backward(model).item(), []
    for step in range(workload.step_hint):
        batch = submission.data_selection(
            workload, queue, state, model, None, None, step, None
        )
        state, model, _ = submission.update_params(
            workload, model, None, None, None, batch, None, state, [], step, None
        )
        rates.append(state["optimizer"].param_groups[0]["lr"])
    assert backward(model).item() < first
    # It warms up to the setting, and the cosine ends at nothing.
    assert rates.index(max(rates)) == 1
    assert max(rates) == pytest.approx(submission.LR)
    assert rates[-1] < submission.LR / 10
    with pytest.raises(CompleteError):
        submission.update_params(
            workload, model, None, None, None, batch, None, state, [], 40, None
        )
    _, same, _ = submission.prepare_for_eval(
        workload, model, None, None, None, None, state, [], 40, None
    )
    assert same is model


def test_an_algoperf_submission_refuses_a_workload_that_nobody_thought_of(submission):
    assert submission.get_batch_size("wmt") == 128
    with pytest.raises(ValueError, match=r"workload_name must be one of .* got 'new'"):
        submission.get_batch_size("new")


# ---- benchopt ------------------------------------------------------------------------


def test_benchopt_runs_the_solver(tmp_path):
    pytest.importorskip("benchopt")
    words = [sys.executable, "-m", "benchopt", "run", str(EXAMPLES / "benchopt")]
    words += ["-n", "5", "--no-plot", "--no-display", "--output", str(tmp_path / "r")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "acprop[lr=0.1,optimizer=adabelief]" in done.stdout


# ---- LightningCLI --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_lightnings_command_line_takes_its_class_path(tmp_path, monkeypatch):
    pytest.importorskip("jsonargparse")
    pytest.importorskip("lightning")
    main = runpy.run_path(str(EXAMPLES / "with_lightning_cli.py"))["main"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["program"])
    words = "fit --optimizer acprop.ACProp --optimizer.lr 0.02 --trainer.max_epochs 2"
    words += " --optimizer.weight_decay 0.01 --trainer.logger false"
    words += " --trainer.accelerator cpu --trainer.enable_progress_bar false"
    words += " --trainer.enable_checkpointing false"
    (opt,) = main(words.split()).trainer.optimizers
    assert isinstance(opt, acprop.ACProp)
    group = opt.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.02, 0.01)
