"""What decides a run, as one value; its hash is the run's id.

Caching, resuming and merging results from several machines are then properties of the
data. Names (of the study, of the scale) do not decide anything and are not hashed.
"""

import hashlib
from dataclasses import dataclass, field

from acprop import checks
from acprop.plain import Plain, canonical


@dataclass(frozen=True, slots=True)
class RunSpec:
    """task: its domain, as "vision". settings: JSON values only, all of them.

    schedule: kind and settings of the learning rate's factor over the run.
    id: 16 hexadecimal digits of the hash of all that.
    """

    task: str
    task_settings: Plain
    optimizer: str
    settings: Plain
    epochs: int
    seed: int
    schedule: Plain = field(default_factory=lambda: {"kind": "constant"})
    # Computed once: a study may have ten thousand runs, and asks for their ids often.
    id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.integer("epochs", self.epochs)
        checks.integer("seed", self.seed, least=0)
        hashed = hashlib.sha256(self.canonical().encode())
        object.__setattr__(self, "id", hashed.hexdigest()[:16])

    def plain(self) -> Plain:
        """As plain values; `from_plain` is the way back."""
        return {
            "task": self.task,
            "task_settings": dict(self.task_settings),
            "optimizer": self.optimizer,
            "settings": dict(self.settings),
            "epochs": self.epochs,
            "seed": self.seed,
            "schedule": dict(self.schedule),
        }

    def canonical(self) -> str:
        """The one text of this spec."""
        try:
            return canonical(self.plain())
        except (TypeError, ValueError, OverflowError) as error:
            raise checks.UserError(
                f"settings must be finite JSON values, got {self.settings} and "
                f"{self.task_settings}; {error}"
            ) from error


def from_plain(plain: Plain) -> RunSpec:
    """Read what `RunSpec.plain` wrote."""
    return RunSpec(**plain)
