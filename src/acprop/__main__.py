"""`python -m acprop` is `acprop`."""

from acprop.cli import main

main()
