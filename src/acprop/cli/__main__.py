"""`python -m acprop.cli`."""

from acprop.cli import main

main()
