"""The paper's convergence theory as something one can run: numpy, never torch."""
