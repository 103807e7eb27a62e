"""An AlgoPerf submission for the self-tuning ruleset, in PyTorch: ACProp (default).

One setting for every workload: learning rate, decay and schedule are below, nothing is
searched. Install acprop where the benchmark runs, and copy this folder to
submissions/self_tuning/acprop:

    python3 submission_runner.py --framework=pytorch --tuning_ruleset=self … \
        --submission_path=submissions/self_tuning/acprop/submission.py

Written for the functions of algoperf's template (read in 2026). algoperf is in no
registry: the tests run these functions against a stand-in with its documented names,
on a network of their own. No workload of the benchmark was run.
"""

import torch
import torch.distributed.nn as distributed
from algoperf import spec
from algoperf.pytorch_utils import pytorch_setup
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

import acprop

USE_PYTORCH_DDP = pytorch_setup()[0]
LR, WEIGHT_DECAY, BETAS, CLIP_NORM = 1e-3, 0.05, (0.9, 0.98), 1.0
LABEL_SMOOTHING, DROPOUT, WARM_UP = 0.1, 0.1, 0.05
# The global batch of each workload: that of the benchmark's own baselines.
BATCH_SIZES = {
    "criteo1tb": 262_144,
    "fastmri": 32,
    "finewebedu_lm": 64,
    "imagenet_resnet": 1024,
    "imagenet_resnet_gelu": 512,
    "imagenet_resnet_silu": 512,
    "imagenet_vit": 1024,
    "librispeech_conformer": 256,
    "librispeech_deepspeech": 256,
    "mnist": 16,
    "ogbg": 512,
    "wmt": 128,
}


def init_optimizer_state(workload, model_params, model_state, hyperparameters, rng):
    """ACProp with a warm-up and a cosine over the workload's hint."""
    del model_state, hyperparameters, rng
    groups = acprop.param_groups(model_params, WEIGHT_DECAY)
    optimizer = acprop.ACProp(groups, lr=LR, betas=BETAS)
    n_warm = max(int(WARM_UP * workload.step_hint), 1)
    warm = LinearLR(optimizer, start_factor=1e-3, total_iters=n_warm)
    down = CosineAnnealingLR(optimizer, T_max=max(workload.step_hint - n_warm, 1))
    schedule = SequentialLR(optimizer, [warm, down], milestones=[n_warm])
    return {"optimizer": optimizer, "schedule": schedule}


def update_params(
    workload,
    current_param_container,
    current_params_types,
    model_state,
    hyperparameters,
    batch,
    loss_type,
    optimizer_state,
    eval_results,
    global_step,
    rng,
    train_state=None,
):
    """One step: (optimizer state, parameters, model state)."""
    del current_params_types, hyperparameters, loss_type, eval_results, train_state
    if global_step >= workload.step_hint:  # the cosine has ended
        raise spec.TrainingCompleteError
    model = current_param_container
    model.train()
    optimizer_state["optimizer"].zero_grad()
    logits, new_model_state = workload.model_fn(
        params=model,
        augmented_and_preprocessed_input_batch=batch,
        model_state=model_state,
        mode=spec.ForwardPassMode.TRAIN,
        rng=rng,
        update_batch_norm=True,
        dropout_rate=DROPOUT,
    )
    losses = workload.loss_fn(
        label_batch=batch["targets"],
        logits_batch=logits,
        mask_batch=batch.get("weights"),
        label_smoothing=LABEL_SMOOTHING,
    )
    total, n = losses["summed"], losses["n_valid_examples"]
    if USE_PYTORCH_DDP:  # DDP takes the mean of the ranks' gradients
        total, n = distributed.all_reduce(total), distributed.all_reduce(n)
    (total / n).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
    optimizer_state["optimizer"].step()
    optimizer_state["schedule"].step()
    return optimizer_state, model, new_model_state


def prepare_for_eval(
    workload,
    current_param_container,
    current_params_types,
    model_state,
    hyperparameters,
    loss_type,
    optimizer_state,
    eval_results,
    global_step,
    rng,
):
    """Nothing: it is evaluated at the weights that it trains."""
    del workload, current_params_types, hyperparameters, loss_type
    del eval_results, global_step, rng
    return optimizer_state, current_param_container, model_state


def get_batch_size(workload_name):
    """The global batch; a workload that nobody thought of is refused."""
    if workload_name not in BATCH_SIZES:
        raise ValueError(
            f"workload_name must be one of {', '.join(BATCH_SIZES)}, got "
            f"{workload_name!r}"
        )
    return BATCH_SIZES[workload_name]


def data_selection(
    workload,
    input_queue,
    optimizer_state,
    current_param_container,
    model_state,
    hyperparameters,
    global_step,
    rng,
):
    """The next batch, whatever it is."""
    del workload, optimizer_state, current_param_container, model_state
    del hyperparameters, global_step, rng
    return next(input_queue)
