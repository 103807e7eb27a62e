"""What decides a run, as one value; its hash is the run's id.

Caching, resuming and merging results from several machines are then properties of the
data. Names (of the study, of the scale) do not decide anything and are not hashed.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

Plain = dict[str, Any]


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
        if self.epochs < 1:
            raise ValueError(f"epochs must be 1 or more, got {self.epochs}")
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or more, got {self.seed}")
        self.canonical()  # only JSON values, or a clear error now

    def plain(self) -> Plain:
        """As plain values; `from_plain` is the way back."""
        return asdict(self)

    def canonical(self) -> str:
        """The one JSON text of this spec: keys sorted, no spaces, numbers as floats.

        1 and 1.0 are the same learning rate, so they have the same text.
        """
        try:
            return json.dumps(
                _normal(self.plain()),
                sort_keys=True,
                separators=(",", ":"),
                allow_nan=False,
            )
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


def _normal(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    raise TypeError(f"{value!r} is not a JSON value")
