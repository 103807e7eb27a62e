"""The same step, written for different machines; private to `acprop.optim`."""
