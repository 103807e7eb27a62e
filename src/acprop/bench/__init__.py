"""Studies as runs: optimizers and schedules by name, the training loop, the store."""
