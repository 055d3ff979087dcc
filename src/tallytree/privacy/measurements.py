"""Noisy answers: the only thing that post-processing may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tallytree.arrays import MAX_MEASURED, LevelArrays, SparseRows, Stored, has_mask
from tallytree.errors import MechanismError
from tallytree.privacy.plan import Plan

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Measurements:
    """A plan and its noisy answers, one array (regions x sizes) for each level, root first.

    A large level is stored compactly, and converted to an array of 64-bit numbers on demand.

    The caller vouches that ``values`` are noisy. A release accepts only measurements made by this software
    itself, :class:`PrivateMeasurements`.
    """

    plan: Plan
    values: Sequence[Ints]

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise MechanismError("Measurements need the Plan that they were made by.")
        if not isinstance(self.values, (list, tuple, np.ndarray, LevelArrays)):
            raise MechanismError("The values must be a list of arrays, one for each level, root first.")
        if len(self.values) != len(self.plan.levels):
            raise MechanismError(
                f"There are {len(self.values)} arrays of values for {len(self.plan.levels)} levels."
            )
        if isinstance(self.values, LevelArrays):
            for index in range(len(self.values)):
                self._check_stored(index, self.values.stored(index))
            return
        checked = [self._check(index, value) for index, value in enumerate(self.values)]
        object.__setattr__(self, "values", tuple(checked))

    def _check(self, index: int, value: object) -> Ints:
        level = self.plan.levels[index].name
        if has_mask(value):
            raise MechanismError(f"The values of level {level!r} are a masked array: every cell is needed.")
        try:
            array = np.asarray(value)
        except ValueError:
            raise MechanismError(f"The values of level {level!r} are not a rectangular array.") from None
        self._check_stored(index, array)
        frozen = array.astype(np.int64, copy=True)
        frozen.flags.writeable = False
        return frozen

    def _check_stored(self, index: int, array: Stored | npt.NDArray[Any]) -> None:
        level = self.plan.levels[index].name
        if array.shape != self.plan.shape(index):
            raise MechanismError(
                f"The values of level {level!r} have the shape {array.shape}, not {self.plan.shape(index)}."
            )
        values = array.values if isinstance(array, SparseRows) else array
        if values.dtype.kind not in "iu":
            raise MechanismError(f"The values of level {level!r} must be whole numbers.")
        if values.size and max(int(values.max()), -int(values.min())) > MAX_MEASURED:
            raise MechanismError(f"The values of level {level!r} go beyond {MAX_MEASURED}.")


@dataclass(frozen=True, eq=False)
class PrivateMeasurements(Measurements):
    """Measurements with exact, unpredictable noise, made by ``measurement.measure`` alone."""

    noise: str
    """How the noise was drawn, for the manifest."""
