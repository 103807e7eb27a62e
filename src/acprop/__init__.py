"""ACProp and its family for PyTorch: asynchronous, centered, safe by default."""
