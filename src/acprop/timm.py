"""The family in timm's registry of optimizers, so that timm finds it by name.

    import acprop.timm
    acprop.timm.register()
    opt = timm.optim.create_optimizer_v2(model, opt="acprop", lr=1e-3, layer_decay=0.75)

For a script that is not yours to change, such as timm's own, start it from here:

    python -m acprop.timm train.py --opt acprop …
    torchrun --nproc-per-node 2 -m acprop.timm train.py --opt acprop …
"""

import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from acprop.optim.create import NAMES


def register() -> list[str]:
    """Add the family to timm's registry; return the names that timm now knows.

    Where timm has an optimizer of the same name, ours is "acprop-…": "acprop-adam".
    `lookahead_acprop` is timm's own way to ask for Lookahead.
    """
    try:
        optim: Any = import_module("timm.optim")
        factory: Any = import_module("timm.optim._optim_factory")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"acprop.timm needs timm, which cannot be imported ({error}); "
            "add it with: pip install timm"
        ) from error
    registry = factory.default_registry
    known = {
        name: registry.get_optimizer_info(name).opt_class
        for name in registry.list_optimizers()
    }
    names: list[str] = []
    for plain, kind in NAMES.items():
        name = plain if known.get(plain, kind) is kind else f"acprop-{plain}"
        names.append(name)
        if name in known:
            continue  # registered before: timm would warn
        summary = (kind.__doc__ or kind.__name__).splitlines()[0]
        registry.register(
            optim.OptimInfo(
                name=name,
                opt_class=kind,
                description=f"acprop {summary}",
                has_betas=plain != "rmsprop",
            )
        )
    return names


def main() -> None:
    """Register, then run the script that is named on the command line."""
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        given = sys.argv[1] if len(sys.argv) > 1 else "nothing"
        sys.exit(
            f"SCRIPT must be a file, got {given}; "
            "say python -m acprop.timm SCRIPT [its own arguments]"
        )
    register()
    del sys.argv[0]
    # As `python SCRIPT` would: what lies beside a script can be imported by it.
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
