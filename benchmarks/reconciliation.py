"""``hierarchicalforecast``: forecast reconciliation (MinTrace, not negative), where it can say our problem.

It finds the non-negative leaves whose sums are nearest to given numbers, for each column of numbers alone:
the relaxed Model M_H without the total that ties the sizes together. It replaces negative numbers by zero
before it starts, so the numbers here are noisy answers with that done already; with an even split of epsilon
all levels weigh the same, which it calls ``ols``.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, identity, vstack

import tallytree as tt
from benchmarks.instances import CALLS, Instance, RelaxedRace, make_instance, time_ours
from benchmarks.ladders import EPSILON
from benchmarks.records import Data, Table, find_exponents, write_megabytes, write_seconds
from benchmarks.relaxations import relax_values
from benchmarks.settings import Settings
from benchmarks.timing import Missing, attempt_all, peak_memory, reset_peak, time_call
from tallytree.hierarchy import Hierarchy
from tallytree.progress import count_processors
from tallytree.research.reproduction.runs import Failure
from tallytree.solvers.solution import weigh_levels

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FINE = 1000
MOST_SECANTS = 50


@dataclass(frozen=True, kw_only=True)
class Reconciliation(RelaxedRace):
    """Both on the same numbers; ours is ``direct-dp``, whole numbers and all."""

    sizes: int
    negative: float
    """The share of the noisy answers that was below zero, and had to be made zero."""


def run_reconciliation(sizes: int, epsilon: str) -> Reconciliation | Failure:
    """On the invented nation. To be called in a fresh process."""
    return reconcile(make_instance(sizes, epsilon))


def reconcile(instance: Instance) -> Reconciliation | Failure:
    """An instance of ``direct-dp``, its epsilon split evenly."""
    plan, noisy = instance.measurements.plan, instance.measurements.values
    clipped = [np.maximum(values, 0) for values in noisy]
    summing = write_summing_matrix(plan.hierarchy)
    stacked = np.concatenate(clipped).astype(np.float64)
    try:
        call_peer(summing, stacked[:, :1])  # warm: loaded
        reset_peak()
        peer, found = time_call(lambda: call_peer(summing, stacked))
    except MemoryError:
        raise
    except Exception as error:  # it raises no other kind when its solver fails
        return Failure(str(error))
    peak = peak_memory()
    optimum, total = find_optimum(plan.hierarchy, clipped, weigh_levels(plan.scales))
    posed = Instance(instance.method, tt.Measurements(plan, clipped), round(total))
    posed.check(posed.solve())
    ours, alone = time_ours(posed)
    return Reconciliation(
        instance.cells,
        ours,
        alone,
        peer,
        sizes=stacked.shape[1],
        objective=float(((found - stacked) ** 2).sum()),
        reference=optimum,
        negative=float(np.mean(np.concatenate(noisy) < 0)),
        peak=peak,
    )


def find_optimum(hierarchy: Hierarchy, values: Sequence[Ints], weights: Ints) -> tuple[float, float]:
    """The relaxed optimum without a total, and its total: the one at which a group more costs nothing.

    The price of the total grows with it, along straight pieces, so that secants find where it is zero; in
    thousandths of groups, since our relaxation takes whole totals.
    """
    fine = [FINE * level for level in values]
    totals = [int(fine[0].sum()), int(fine[0].sum()) + FINE]
    points = [relax_values(hierarchy, fine, weights, total) for total in totals]
    for _ in range(MOST_SECANTS):
        slope = (points[-1].price - points[-2].price) / (totals[-1] - totals[-2])
        totals.append(max(0, round(totals[-1] - points[-1].price / slope)))
        if totals[-1] == totals[-2]:
            break
        points.append(relax_values(hierarchy, fine, weights, totals[-1]))
    return min(point.objective for point in points) / FINE**2, totals[-1] / FINE


def call_peer(summing: csr_matrix, numbers: Floats) -> Floats:
    """Reconciled numbers, regions x sizes, in the order of ``numbers``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies, as they are loaded
        from hierarchicalforecast.methods import MinTraceSparse
    method = MinTraceSparse("ols", nonnegative=True, num_threads=count_processors())
    return method.fit_predict(S=summing, y_hat=numbers)["mean"]


def write_summing_matrix(hierarchy: Hierarchy) -> csr_matrix:
    """Regions, level by level, x leaves: which leaf is in which region. All leaves are on the last level."""
    level = len(hierarchy.levels) - 1
    part = identity(len(hierarchy.regions(level)), format="csr")
    parts = [part]
    while level:
        above = np.arange(len(hierarchy.parents(level)))
        ones = np.ones(len(above))
        gather = csr_matrix(
            (ones, (hierarchy.parents(level), above)),
            shape=(len(hierarchy.regions(level - 1)), len(above)),
        )
        part = csr_matrix(gather @ part)
        parts.append(part)
        level -= 1
    return csr_matrix(vstack(parts[::-1]))


def measure(settings: Settings, missing: list[Missing]) -> list[Reconciliation]:
    """At several numbers of sizes, each in a process of its own."""
    return attempt_all(
        [
            (f"forecast reconciliation, {sizes} sizes", partial(run_reconciliation, sizes, EPSILON))
            for sizes in settings.reconciliation_sizes
        ],
        missing,
    )


SAME = 1e-6
RUNS = Table[Reconciliation](
    ("sizes", lambda run: run.sizes, "{:,}"),
    ("cells", lambda run: run.cells, "{:,}"),
    ("MinTrace s", lambda run: run.peer.seconds, write_seconds),
    ("processors", lambda run: run.peer.processors, "{:.1f}"),
    ("process peak MB", lambda run: run.peak, write_megabytes),
    ("direct-dp s", lambda run: run.ours.seconds, write_seconds),
    ("ratio", lambda run: run.ratio, "**{:,.0f}**"),
    ("ratio, one processor", lambda run: run.ratio_alone, "{:,.0f}"),
    ("answers below zero", lambda run: 100 * run.negative, "{:.1f} %"),
    ("objective of MinTrace", lambda run: run.objective, "{:,.1f}"),
    ("of the relaxed optimum", lambda run: run.reference, "{:,.1f}"),
    ("MinTrace's above it", lambda run: run.difference, "{:+.1e}"),
)


def record(runs: Sequence[Reconciliation]) -> Data:
    """The data."""
    rows = RUNS.record(runs)
    return {"runs": rows, "growth exponent": find_exponents(rows, "cells", "MinTrace s", "direct-dp s")}


def write(data: Data) -> str:
    """What it can say of our problem, what it cannot, and how it did."""
    return f"""## `direct-dp` against forecast reconciliation

`hierarchicalforecast` reconciles forecasts over a hierarchy; `MinTraceSparse` with `nonnegative=True` is
its way that does it at this size: by Clarabel, a program for each column of numbers. It can say: every
region is the sum of its children, nothing is negative, levels weigh differently (`ols` where all weigh the
same, as here; `wls_var`, by made-up residuals, otherwise). It cannot say: that the counts add up to the
public total, which ties all sizes together; that they are whole; that cumulative counts do not decrease
along the sizes. So it cannot say Model M_c at all, and of Model M_H the relaxation without the total. It
replaces negative numbers by zero before it begins, which moves the optimum; so both sides were given the
noisy answers with that done.

Its time is of one call of `fit_predict`, on all processors; ours is of `direct-dp`, whole numbers and
certificate included, the best of {CALLS} calls, for the total of the relaxed optimum.

{RUNS.write(data["runs"], data["growth exponent"])}{_write_verdict(data["runs"])}"""


def _write_verdict(runs: Sequence[Data]) -> str:
    """Whether it found the optimum of what it can say."""
    if not runs:
        return ""
    same = sum(abs(run["MinTrace's above it"]) <= SAME for run in runs)
    verdict = f"\n\nIt found the relaxed optimum, to a relative {SAME:g}, in {same} of {len(runs)} runs."
    if same == len(runs):
        return verdict
    return f"""{verdict}
It gives Clarabel the counts themselves, not their differences from the answers; the optimal value is then
huge, and a relative tolerance lets the solver stop early, as PIQP does with the model *as written*, above."""
