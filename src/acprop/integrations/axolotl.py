"""ACProp in axolotl, by two lines of its YAML:

    plugins:
      - acprop.integrations.axolotl.ACPropPlugin

Learning rate, weight decay and betas are those of axolotl's own keys (`learning_rate`,
`weight_decay`, `adam_beta1`, `adam_beta2`); further options of `acprop.ACProp` are a
table under `optim_args`.

Read and tested against the plugin interface of axolotl 0.19.0. Its manager has the hook
`create_optimizer` but no trainer of that version calls it, so the optimizer is also set
when the trainer has been made; it is made once.
"""

from importlib import import_module
from typing import Any

from acprop.optim import create

_BasePlugin: Any = import_module("axolotl.integrations.base").BasePlugin


class ACPropPlugin(_BasePlugin):  # pyright: ignore[reportUntypedBaseClass]
    """Makes the optimizer of a run."""

    def create_optimizer(self, cfg: Any, trainer: Any) -> Any:
        """For the trainer's model; biases and norms do not decay."""
        args = trainer.args
        options: dict[str, Any] = {"betas": (args.adam_beta1, args.adam_beta2)}
        return create(
            "acprop",
            trainer.model,
            lr=args.learning_rate,
            weight_decay=args.weight_decay,
            **options | dict(cfg.get("optim_args") or {}),
        )

    def post_trainer_create(self, cfg: Any, trainer: Any) -> None:
        """A trainer that has an optimizer makes none of its own."""
        if trainer.optimizer is None:
            trainer.optimizer = self.create_optimizer(cfg, trainer)
