"""``hierarchicalforecast`` in words and a table."""

from collections.abc import Sequence

from benchmarks.comparison import CALLS
from benchmarks.markdown import write_exponent, write_megabytes, write_seconds, write_table
from benchmarks.reconciliation_peer import Reconciliation
from benchmarks.timing import find_growth

SAME = 1e-6


def write_reconciliation(runs: Sequence[Reconciliation]) -> str:
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

{_write_table(runs)}{_write_verdict(runs)}"""


def _write_table(runs: Sequence[Reconciliation]) -> str:
    rows: list[tuple[str, ...]] = [
        (
            f"{run.sizes:,}",
            f"{run.cells:,}",
            write_seconds(run.peer.seconds),
            f"{run.peer.processors:.1f}",
            write_megabytes(run.peak),
            write_seconds(run.ours.seconds),
            f"**{run.ratio:,.0f}**",
            f"{run.ratio_alone:,.0f}",
            f"{100 * run.negative:.1f} %",
            f"{run.objective:,.1f}",
            f"{run.reference:,.1f}",
            f"{run.difference:+.1e}",
        )
        for run in runs
    ]
    cells = [run.cells for run in runs]
    growth = [
        write_exponent(find_growth(cells, [timing.seconds for timing in timings]))
        for timings in ([run.peer for run in runs], [run.ours for run in runs])
    ]
    if any(growth):
        rows.append(("growth exponent", "", growth[0], "", "", growth[1], *[""] * 6))
    header = (
        "sizes", "cells", "MinTrace s", "processors", "process peak MB", "direct-dp s", "ratio",
        "ratio, one processor", "answers below zero", "objective of MinTrace", "of the relaxed optimum",
        "MinTrace's above it",
    )  # fmt: skip
    return write_table(header, rows)


def _write_verdict(runs: Sequence[Reconciliation]) -> str:
    """Whether it found the optimum of what it can say."""
    if not runs:
        return ""
    same = sum(abs(run.difference) <= SAME for run in runs)
    verdict = f"\n\nIt found the relaxed optimum, to a relative {SAME:g}, in {same} of {len(runs)} runs."
    if same == len(runs):
        return verdict
    return f"""{verdict}
It gives Clarabel the counts themselves, not their differences from the answers; the optimal value is then
huge, and a relative tolerance lets the solver stop early, as PIQP does with the model *as written*, above."""
