"""What a step needs a bound for, and what the bound costs."""
