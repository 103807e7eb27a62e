"""What one step of a parameter group does, and whether the next may do the same."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from acprop.optim.dispatch import assign_kernels
from acprop.optim.kernels import native
from acprop.optim.options import Group, is_unchanged, snapshot
from acprop.optim.params import ParamWithState
from acprop.optim.step_options import step_options_of


class StepPlan:
    """The calls of kernels for the tensors of a group.

    One plan is run once, unless the C kernel takes all tensors: that plan serves again
    for as long as nothing but gradients and the learning rate is another.

    state: of the optimizer that keeps the plan; None for a plan that nobody keeps.
    """

    def __init__(
        self,
        group: Group,
        items: list[ParamWithState],
        state: Mapping[Tensor, dict[str, Any]] | None = None,
    ) -> None:
        self.group = group
        self._h = h = step_options_of(group)
        self._calls = assign_kernels(group, items, h)
        self._prepared: list[native.PreparedCall] = []
        if state is None:
            return
        self.delay: int = h.rule.delay
        self._options = snapshot(group)
        if [call.kernel for call in self._calls] != [native.update]:
            return
        self._prepared = native.prepare(
            self._calls[0].items, h, state, [item.param for item in items]
        )
        self._calls = []
        # Held, so that no other tensor can come to have the id of a lost one.
        self._params = list(group["params"])
        self._ids = list(map(id, self._params))
        self._without_grad = [p for p in self._params if p.grad is None]

    def has_its_options(self) -> bool:
        """Are the options of the group, but for lr, those that it was made with?"""
        return is_unchanged(self.group, self._options)

    def is_current(self) -> bool:
        """Take over the new gradients; False if a new plan has to be made.

        Whether the state is still the same dicts is seen once for all plans.
        """
        return (
            bool(self._prepared)
            and is_unchanged(self.group, self._options)
            and list(map(id, self.group["params"])) == self._ids
            and all(p.grad is None for p in self._without_grad)
            and all(call.refresh() for call in self._prepared)
        )

    def run(self) -> None:
        """Advance all tensors of the group by one step."""
        for call in self._prepared:
            call.run(float(self.group["lr"]))
        for kernel, items in self._calls:
            kernel(items, self._h)
        self._calls = []  # or it would keep gradients alive
