"""General solvers in words, tables and a figure."""

from collections.abc import Callable

from benchmarks.comparison import CALLS
from benchmarks.ladders import EPSILON, Climb, Ladder, Rung
from benchmarks.markdown import write_exponent, write_megabytes, write_ratio, write_seconds, write_table
from benchmarks.solvers import RELAXED
from benchmarks.timing import LEAST_SIZES, find_growth
from tallytree.drawing.curves import Curve, draw


def draw_ladder(ladder: Ladder) -> str:
    """Time against cells, with a cross where one was given up."""
    curves = [Curve(ladder.model.variant.label, [(float(x), y) for x, y in ladder.list_ours()])]
    for climb in ladder.climbs:
        points = [(float(rung.cells), rung.peer.seconds) for rung in climb.rungs]
        cross = None
        if climb.failure and climb.failure.timed_out and climb.stopped_at:
            cross = float(ladder.cells[ladder.steps.index(climb.stopped_at)]), ladder.most_seconds
        if points or cross:
            curves.append(Curve(climb.solver.name, points, given_up=cross))
    return draw([curve for curve in curves if curve.marks], "cells", limit=ladder.most_seconds)


def write_ladder(ladder: Ladder, plot: str | None) -> str:
    """All of it; ``plot`` is the picture's file name."""
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## General solvers on Model {ladder.model.name}

The model as a sparse quadratic program, in the form *{ladder.model.form.label}*, given to solvers that
know nothing of hierarchies; beside each, `{ladder.model.variant.label}` on the same instance. Epsilon is
{EPSILON}; the sizes are of the invented city (the first figure's) and then of the invented nation. Every
solver ran in a process of its own, with at most {ladder.most_seconds:.0f} s for an instance; the first that
it could not do was its last. Set-up and solving are timed, the matrices are written before; fast calls were
made several times, and ours {CALLS} times, for the best. Solvers for real numbers find the relaxed optimum
and leave rounding to others: ours, which rounds too, is timed with that.

Seconds; the growth exponent is over the largest {LEAST_SIZES} sizes that were solved:

{_write_times(ladder)}{picture}

How many times longer than ours:

{_write_cells(ladder, lambda rung: write_ratio(rung.ratio))}

How far the objective is above ours, relatively: above our relaxed optimum, and for whole numbers above that
of our whole numbers ({_explain_whole(ladder)}):

{_write_cells(ladder, lambda rung: f"{rung.difference:+.0e}")}

At the largest size that each solved:

{_write_largest(ladder)}

They stop at: {_list_tolerances()}.{_write_stops(ladder)}"""


def _write_times(ladder: Ladder) -> str:
    ours = dict(ladder.list_ours())
    seconds = [write_seconds(ours[cells]) if cells in ours else "" for cells in ladder.cells]
    last = ladder.list_ours()[-LEAST_SIZES:]
    growth = write_exponent(find_growth([x for x, _ in last], [y for _, y in last]))
    rows = [
        ("cells", *(f"{cells:,}" for cells in ladder.cells), ""),
        (f"`{ladder.model.variant.label}`", *seconds, growth),
    ]
    for climb in ladder.climbs:
        cells = _list_cells(ladder, climb, lambda rung: write_seconds(rung.peer.seconds))
        rows.append((climb.solver.name, *cells, write_exponent(climb.growth)))
    return write_table(("solver", *(step.label for step in ladder.steps), "growth exponent"), rows)


def _write_cells(ladder: Ladder, write: Callable[[Rung], str]) -> str:
    rows = [(climb.solver.name, *_list_cells(ladder, climb, write)) for climb in ladder.climbs]
    return write_table(("solver", *(step.label for step in ladder.steps)), rows)


def _list_cells(ladder: Ladder, climb: Climb, write: Callable[[Rung], str]) -> list[str]:
    """A cell for each instance, or why it stopped there; nothing after that."""
    cells = {rung.step: write(rung) for rung in climb.rungs}
    if climb.failure and climb.stopped_at:
        timed_out = f"over {ladder.most_seconds:.0f} s"
        cells[climb.stopped_at] = timed_out if climb.failure.timed_out else "cannot, see below"
    return [cells.get(step, "") for step in ladder.steps]


def _write_largest(ladder: Ladder) -> str:
    rows = [
        (
            climb.solver.name,
            climb.solver.kind,
            rung.step.label,
            write_seconds(rung.peer.seconds),
            write_seconds(rung.setup_seconds),
            f"{rung.peer.processors:.1f}",
            f"{rung.iterations:,}",
            f"**{write_ratio(rung.ratio)}**",
            write_ratio(rung.ratio_alone),
            f"{rung.violation:.0e}",
            write_megabytes(rung.peak),
        )
        for climb in ladder.climbs
        for rung in climb.rungs[-1:]
    ]
    header = (
        "solver", "method", "size", "s", "of it set-up s", "processors", "iterations", "ratio",
        "ratio, one processor", "misses a condition by", "process peak MB",
    )  # fmt: skip
    return write_table(header, rows)


def _explain_whole(ladder: Ladder) -> str:
    if ladder.model.variant.make().exact:
        return "which are optimal, so it should be zero"
    return "which are near the optimum, so it may be below"


def _list_tolerances() -> str:
    return "; ".join(f"{solver.name}, {solver.tolerances()}" for solver in RELAXED if solver.tolerances)


def _write_stops(ladder: Ladder) -> str:
    """Why those that were not merely slow could not go on."""
    lines = [
        f"- {climb.solver.name} at {climb.stopped_at.label} sizes: {climb.failure.reason}"
        for climb in ladder.climbs
        if climb.failure and climb.stopped_at and not climb.failure.timed_out
    ]
    return "\n\n" + "\n".join(lines) if lines else ""
