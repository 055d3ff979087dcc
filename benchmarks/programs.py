"""The relaxed Models M_H and M_c as sparse quadratic programs, in the forms that a solver is given them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix, identity, vstack

from benchmarks.instances import Instance
from tallytree.privacy.queries import CUMULATIVE
from tallytree.solvers.general.conditions import write_steps, write_sums
from tallytree.solvers.solution import weigh_levels

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """One of several ways to write the same model."""

    label: str
    centred: bool = True
    """In the differences d = x - t from the noisy values: minimise w |d|^2.

    In the counts x themselves the linear term makes the optimal value so large (about -10^15) that a
    relative tolerance on the duality gap is met early.
    """
    leaves_only: bool = False
    """Model M_c: only the leaves are told not to decrease; then neither do their sums."""


DIRECT_FORMS = (Form("as written", centred=False), Form("centred"))
JOINT_FORMS = (Form("all regions"), Form("leaves only", leaves_only=True))


@dataclass(frozen=True)
class Program:
    """Minimise sum w (y - target)^2 with A y = b, S y >= least, y >= lower, where y = x - shift."""

    weights: Floats
    target: Floats
    lower: Floats
    equalities: csc_matrix
    right_side: Floats
    steps: csc_matrix | None
    """S; None in Model M_H."""
    least_steps: Floats | None
    quadratic: csc_matrix
    """Twice the weights, on the diagonal: a solver minimises y'Py / 2 + c'y."""
    linear: Floats

    def objective(self, y: Floats) -> float:
        """(H1) or (C1) with level weights."""
        return float(self.weights @ (y - self.target) ** 2)

    def violation(self, y: Floats) -> float:
        """The largest of |A y - b|, of lower - y and of least - S y."""
        misses = [np.abs(self.equalities @ y - self.right_side), self.lower - y]
        if self.steps is not None:
            misses.append(self.least_steps - self.steps @ y)
        return max(float(miss.max()) for miss in misses)

    def stack(self, *, bounds: bool) -> tuple[csc_matrix, Floats, Floats]:
        """The conditions as least <= C y <= most, the equations first; with ``bounds`` those on y as well."""
        blocks, lower = [self.equalities], [self.right_side]
        if bounds:
            blocks.append(identity(len(self.lower), format="csc"))
            lower.append(self.lower)
        if self.steps is not None and self.least_steps is not None:
            blocks.append(self.steps)
            lower.append(self.least_steps)
        least = np.concatenate(lower)
        most = np.full(len(least), np.inf)
        most[: len(self.right_side)] = self.right_side
        return csc_matrix(vstack(blocks)), least, most


def write_program(instance: Instance, form: Form) -> Program:
    """Variables for every region and size, level by level; rows for every parent and size, and G."""
    plan, values = instance.measurements.plan, instance.measurements.values
    weights = weigh_levels([level.scale for level in plan.levels])
    weight = np.repeat(weights.astype(np.float64), [value.size for value in values])
    noisy = np.concatenate([value.reshape(-1) for value in values]).astype(np.float64)
    shift = noisy if form.centred else np.zeros_like(noisy)
    sizes = values[0].shape[1]
    cumulative = instance.method.query == CUMULATIVE
    last = [sizes - 1] if cumulative else range(sizes)
    sums = write_sums(plan.hierarchy, sizes, instance.total, total_columns=last)
    steps = _write_order(instance, form) if cumulative else None
    diagonal = np.arange(len(noisy))
    return Program(
        weights=weight,
        target=noisy - shift,
        lower=-shift,
        equalities=sums.equalities,
        right_side=sums.right - sums.equalities @ shift,
        steps=steps,
        least_steps=None if steps is None else -(steps @ shift),
        quadratic=csc_matrix((2 * weight, (diagonal, diagonal)), shape=(len(noisy), len(noisy))),
        linear=2 * weight * (shift - noisy),
    )


def _write_order(instance: Instance, form: Form) -> csc_matrix | None:
    """(C3) for every region, or for the leaves alone."""
    hierarchy, sizes = instance.measurements.plan.hierarchy, instance.measurements.values[0].shape[1]
    steps = write_steps(hierarchy.region_count, sizes)
    if steps is None or not form.leaves_only:
        return steps
    inner = np.concatenate([hierarchy.has_children(level) for level in hierarchy.levels])
    return csc_matrix(steps[np.flatnonzero(np.repeat(~inner, sizes - 1))])


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
