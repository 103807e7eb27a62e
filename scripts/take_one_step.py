"""Is the installed package whole? Take one step with its C library.

fused=True refuses to do without the library, so a package that lacks it fails here.
"""

import torch

import acprop

param = torch.zeros(3, requires_grad=True)
optimizer = acprop.ACProp([param], lr=0.5, fused=True, average=None)
param.grad = torch.ones(3)
optimizer.step()
if not torch.equal(param, torch.full((3,), -0.5)):  # the first step is lr·sign(g)
    raise SystemExit(f"a step of 0.5 must end at -0.5, got {param.tolist()}")
print(f"acprop {acprop.__version__} in {acprop.__path__[0]} takes its step")
