"""What decides a run, as one value; its hash is the run's id.

Caching, resuming and merging results from several machines are then properties of the
data. Names (of the study, of the scale) do not decide anything and are not hashed.
"""

import hashlib
from dataclasses import dataclass, field, fields

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
    # Computed once: a study may have ten thousand runs, and needs their ids often.
    id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.integer("epochs", self.epochs)
        checks.integer("seed", self.seed, least=0)
        try:
            text = canonical(self.plain())
        except (TypeError, ValueError, OverflowError) as error:
            raise checks.UserError(
                f"settings must be finite JSON values, got {self.settings} and "
                f"{self.task_settings}; {error}"
            ) from error
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        object.__setattr__(self, "id", name)

    def plain(self) -> Plain:
        """As plain values; `RunSpec(**plain)` is the way back."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}
