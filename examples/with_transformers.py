"""ACProp in transformers.Trainer: one argument, `optimizer_cls_and_kwargs`.

A tiny GPT-2 with random weights learns a pattern of numbers; nothing is downloaded.
python examples/with_transformers.py FOLDER
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import acprop


class Counting(Dataset):
    """0 1 2 … from different starts, to be continued."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        row = (torch.arange(8) + i) % 16
        return {"input_ids": row, "labels": row}


def main(folder: Path, *, resume: bool = False) -> nn.Module:
    """Train 12 steps, a checkpoint every six; return the model."""
    torch.manual_seed(0)
    sizes = {"n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=16, **sizes))
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=12,
        save_steps=6,
        per_device_train_batch_size=8,
        learning_rate=1e-2,  # of the schedule; the optimizer has its own keyword
        lr_scheduler_type="cosine",
        max_grad_norm=1.0,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=Counting(),
        optimizer_cls_and_kwargs=(acprop.ACProp, {"lr": 1e-2, "weight_decay": 0.01}),
    )
    trainer.train(
        resume_from_checkpoint=str(folder / "checkpoint-6") if resume else None
    )
    return model


if __name__ == "__main__":
    main(Path(sys.argv[1]))
