"""Studies as runs: optimizers and schedules by name, the one training loop, the store."""
