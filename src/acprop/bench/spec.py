"""What decides a run, as one value; its hash is the run's id.

Caching, resuming and merging results from several machines are then properties of the
data. Names (of the study, of the scale) do not decide anything and are not hashed.
"""

import hashlib
from dataclasses import asdict, dataclass, field

from acprop import checks
from acprop.plain import Plain, canonical


@dataclass(frozen=True, slots=True)
class RunSpec:
    """task: its domain, as "vision". settings: JSON values only, all of them.

    schedule: kind and settings of the learning rate's factor over the run.
    """

    task: str
    task_settings: Plain
    optimizer: str
    settings: Plain
    epochs: int
    seed: int
    schedule: Plain = field(default_factory=lambda: {"kind": "constant"})

    def __post_init__(self) -> None:
        checks.whole("epochs", self.epochs)
        checks.whole("seed", self.seed, least=0)
        self.canonical()  # only JSON values, or a clear error now

    def plain(self) -> Plain:
        """As plain values; `from_plain` is the way back."""
        return asdict(self)

    def canonical(self) -> str:
        """The one text of this spec."""
        try:
            return canonical(self.plain())
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"settings must be finite JSON values, got {self.settings} and "
                f"{self.task_settings}; {error}"
            ) from error

    @property
    def id(self) -> str:
        """16 hexadecimal digits."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]


def from_plain(plain: Plain) -> RunSpec:
    """Read what `RunSpec.plain` wrote."""
    return RunSpec(**plain)
