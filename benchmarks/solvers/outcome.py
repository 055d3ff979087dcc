"""What every solver is given, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.instances import Instance
from benchmarks.programs import Program

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Posed:
    """An instance, and the same as a program."""

    instance: Instance
    program: Program


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call of a solver came to."""

    y: Floats
    """In the program's variables."""
    solved: bool
    """To its tolerances, as it says."""
    status: str
    iterations: int
    """Of whatever it counts."""
    setup_seconds: float


Solve = Callable[[], Outcome]
"""Set up and solve: this is timed."""

Prepare = Callable[[Posed], Solve]
"""Put the program into the shape that a solver wants: this is not."""
