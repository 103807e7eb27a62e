"""Run in a process of its own: timm, which needs torchvision, which needs torch's GPU.

The wheel of torchvision does not load its compiled operators beside a CPU build of
torch, and then fails because `nms` and `qnms` are unknown. timm never calls them, so
they are declared here, without a body; all else of timm and torchvision is the real
thing. Both are in build/timm, not in the environment, where other packages would
stumble over them.

python timm_here.py registry | rates | loop WORDS…
"""

import json
import logging
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]
SKIP = 77
warnings.simplefilter("ignore")
sys.path.append(str(ROOT / "build" / "timm"))


def declare_nms() -> None:
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError as error:
        print(f"needs timm: make test-trainers ({error})", file=sys.stderr)
        sys.exit(SKIP)
    except RuntimeError:
        for name in [n for n in sys.modules if n.startswith("torchvision")]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float at) -> Tensor")
        KEPT.append(library)


KEPT: list[object] = []
declare_nms()
try:
    import timm.optim
except ModuleNotFoundError as missing:
    print(f"needs timm: make test-trainers ({missing})", file=sys.stderr)
    sys.exit(SKIP)

import acprop  # noqa: E402
import acprop.timm  # noqa: E402


def vit() -> torch.nn.Module:
    sizes = {"img_size": 16, "patch_size": 8, "embed_dim": 16, "depth": 3}
    return timm.create_model("vit_tiny_patch16_224", num_heads=2, **sizes)


def registry() -> dict:
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    logging.getLogger("timm").addHandler(handler)
    names, again = acprop.timm.register(), acprop.timm.register()
    make = timm.optim.create_optimizer_v2
    opt = make(vit(), "acprop", lr=1e-3, betas=[0.8, 0.9], weight_decay=0.05)
    deep = make(vit(), "acprop", lr=1e-3, layer_decay=0.5, weight_decay=0.05)
    kind = type(opt)
    return {
        "names": names,
        "again": again,
        "logged": records,
        "class": f"{kind.__module__}.{kind.__name__}",
        "betas": opt.param_groups[0]["betas"],
        "lookahead": type(make(vit(), "lookahead_acprop", lr=1e-3)).__name__,
        "scales": sorted({g["lr_scale"] for g in deep.param_groups}),
        "decays": sorted({g["weight_decay"] for g in deep.param_groups}),
    }


def loop() -> None:
    sys.argv = ["acprop.timm", str(ROOT / "examples" / "with_timm.py"), *sys.argv[2:]]
    acprop.timm.main()


if sys.argv[1] == "loop":
    loop()
else:
    print(json.dumps(registry()))
