"""General solvers on ever larger instances of a model, until one takes too long; ours beside each of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import tallytree as tt
from benchmarks.instances import (
    CALLS,
    DIRECT,
    PLAIN_JOINT,
    Instance,
    RelaxedRace,
    make_nation,
    measure_counts,
    time_ours,
)
from benchmarks.programs import DIRECT_FORMS, JOINT_FORMS, Form, Outcome, Posed, write_program
from benchmarks.records import Data, Table, write_megabytes, write_ratio, write_seconds, write_table
from benchmarks.relaxations import RelaxedPoint, TreePoint, relax_point, relax_tree
from benchmarks.solvers import DIRECT_SOLVERS, JOINT_SOLVERS, Solver
from benchmarks.timing import LEAST_SIZES, Timing, find_growth, peak_memory, reset_peak, tell, time_call
from tallytree.datasets.invented import generate_city
from tallytree.drawing.charts import Curve, draw
from tallytree.errors import MechanismError
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.research.reproduction.runs import Child, Failure

EPSILON = "1"
ENOUGH_SECONDS = 0.5
"""A call is made again, for a better time, while all of them together took less."""
MOST_CALLS = 20
PLACES: Mapping[str, Callable[[int], tt.GroupCounts]] = {"city": generate_city, "nation": make_nation}


@dataclass(frozen=True)
class Model:
    """What is solved, and by whom."""

    name: str
    variant: Variant
    """Our own."""
    form: Form
    """The form that suits the solvers best."""
    relax: Callable[[Instance], TreePoint | RelaxedPoint]
    """The relaxed optimum as we find it."""
    solvers: tuple[Solver, ...]


@dataclass(frozen=True)
class Step:
    """Whose data, and how many sizes of it."""

    place: str
    sizes: int

    @property
    def label(self) -> str:
        """As it heads a column."""
        return f"{self.place}, {self.sizes:,}"


@dataclass(frozen=True, kw_only=True)
class Rung(RelaxedRace):
    """One solver on one instance."""

    step: Step
    setup_seconds: float
    iterations: int
    violation: float


@dataclass(frozen=True)
class Climb:
    """One solver, up to the first instance that it could not do."""

    solver: Solver
    rungs: Sequence[Rung]
    stopped_at: Step | None = None
    failure: Failure | None = None

    @property
    def growth(self) -> float | None:
        """The growth exponent in cells, over the largest instances; None if it solved too few."""
        last = self.rungs[-LEAST_SIZES:]
        return find_growth([rung.cells for rung in last], [rung.peer.seconds for rung in last])


@dataclass(frozen=True)
class Ladder:
    """All solvers on the same instances of one model."""

    model: Model
    steps: Sequence[Step]
    cells: Sequence[int]
    most_seconds: float
    climbs: Sequence[Climb]

    def list_ours(self) -> Sequence[tuple[int, float]]:
        """Cells and our own best seconds, of the instances that anyone solved."""
        seconds: dict[int, float] = {}
        for rung in (rung for climb in self.climbs for rung in climb.rungs):
            seconds[rung.cells] = min(rung.ours.seconds, seconds.get(rung.cells, rung.ours.seconds))
        return sorted(seconds.items())


def list_models() -> tuple[Model, Model]:
    """Both of the paper's models."""
    return (
        Model("M_H", DIRECT, DIRECT_FORMS[-1], relax_tree, DIRECT_SOLVERS),
        Model("M_c", PLAIN_JOINT, JOINT_FORMS[-1], relax_point, JOINT_SOLVERS),
    )


def measure(model: Model, steps: Sequence[Step], most_seconds: float) -> Ladder:
    """Every solver of ``model`` in a process of its own, which has ``most_seconds`` for each instance."""
    climbs = []
    for solver in model.solvers:
        tell(f"{solver.name} on Model {model.name}, up to {steps[-1].label} sizes")
        climbs.append(climb(solver, model, steps, most_seconds))
        if failure := climbs[-1].failure:
            tell(f"  stopped: {failure.reason}")
    regions = {place: make(1).hierarchy.region_count for place, make in PLACES.items()}
    cells = [regions[step.place] * step.sizes for step in steps]
    return Ladder(model, steps, cells, most_seconds, climbs)


def climb(solver: Solver, model: Model, steps: Sequence[Step], most_seconds: float) -> Climb:
    """Step by step, until ``solver`` cannot."""
    rungs: list[Rung] = []
    with Child(partial(time_steps, solver, model, steps)) as child:
        for step in steps:
            outcome = child.receive()  # posed, and ours timed
            if outcome is None:
                outcome = child.receive(most_seconds)
            if isinstance(outcome, Failure):
                return Climb(solver, rungs, step, outcome)
            if outcome is not None:
                rungs.append(outcome)
    return Climb(solver, rungs)


def time_steps(solver: Solver, model: Model, steps: Sequence[Step]) -> Iterator[Rung | Failure | None]:
    """For each step: None when all is ready, then what ``solver`` did. To be called in a fresh process."""
    for step in steps:
        instance = measure_counts(model.variant.make(), PLACES[step.place](step.sizes), EPSILON)
        posed = Posed(instance, write_program(instance, model.form))
        solution = instance.solve()  # warm: compiled
        instance.check(solution)
        ours, alone = time_ours(instance)
        reference = float(solution.objective) if solver.whole else model.relax(instance).objective
        yield None
        yield _time_solver(solver, step, posed, ours, alone, reference)


def _time_solver(
    solver: Solver, step: Step, posed: Posed, ours: Timing, alone: Timing, reference: float
) -> Rung | Failure:
    reset_peak()
    calls: list[tuple[Timing, Outcome]] = []
    try:
        solve = solver.prepare(posed)
        while len(calls) < MOST_CALLS and sum(timing.seconds for timing, _ in calls) < ENOUGH_SECONDS:
            calls.append(time_call(solve))
    except MemoryError:
        raise
    except Exception as error:  # whatever a solver may raise: the others go on
        return Failure(str(error) if isinstance(error, MechanismError) else repr(error))
    timing, outcome = min(calls, key=lambda call: call[0].seconds)
    if not outcome.solved:
        return Failure(f"not solved: {outcome.status}")
    return Rung(
        posed.instance.cells,
        ours,
        alone,
        timing,
        step=step,
        setup_seconds=outcome.setup_seconds,
        iterations=outcome.iterations,
        objective=posed.program.objective(outcome.y),
        reference=reference,
        violation=posed.program.violation(outcome.y),
        peak=peak_memory(),
    )


PLOTS = {"M_H": "solvers-direct.svg", "M_c": "solvers-joint.svg"}
AGREEMENT = 1e-6


def judge(ladders: Sequence[Ladder]) -> list[Goal]:
    """For each model, by the solver that is furthest off."""
    return [_judge_agreement(ladder) for ladder in ladders]


def _judge_agreement(ladder: Ladder) -> Goal:
    """Either side could be off: so neither may be above the other by more."""
    statement = (
        f"Model {ladder.model.name}: the relaxed optimum of every general solver is ours, "
        f"to a relative {AGREEMENT:g}"
    )
    runs = [
        (climb.solver.name, rung) for climb in ladder.climbs for rung in climb.rungs if not climb.solver.whole
    ]
    if not runs:
        return Goal.open(statement)
    name, worst = max(runs, key=lambda run: abs(run[1].difference))
    return Goal(
        statement,
        f"{worst.difference:+.1e}, {name} at {worst.step.label} sizes (the furthest of {len(runs)} runs of "
        f"{len({name for name, _ in runs})} solvers)",
        abs(worst.difference) <= AGREEMENT,
    )


def draw_times(ladder: Ladder) -> str:
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


LARGEST = Table[tuple[Solver, Rung]](
    ("solver", lambda run: run[0].name, "{}"),
    ("method", lambda run: run[0].kind, "{}"),
    ("size", lambda run: run[1].step.label, "{}"),
    ("s", lambda run: run[1].peer.seconds, write_seconds),
    ("of it set-up s", lambda run: run[1].setup_seconds, write_seconds),
    ("processors", lambda run: run[1].peer.processors, "{:.1f}"),
    ("iterations", lambda run: run[1].iterations, "{:,}"),
    ("ratio", lambda run: run[1].ratio, lambda ratio: f"**{write_ratio(ratio)}**"),
    ("ratio, one processor", lambda run: run[1].ratio_alone, write_ratio),
    ("misses a condition by", lambda run: run[1].violation, "{:.0e}"),
    ("process peak MB", lambda run: run[1].peak, write_megabytes),
)


def record(ladder: Ladder) -> Data:
    """The data."""
    ours = dict(ladder.list_ours())
    last = ladder.list_ours()[-LEAST_SIZES:]
    return {
        "model": ladder.model.name,
        "form": ladder.model.form.label,
        "mechanism": ladder.model.variant.label,
        "exact": ladder.model.variant.make().exact,
        "most seconds": ladder.most_seconds,
        "sizes": [step.label for step in ladder.steps],
        "cells": list(ladder.cells),
        "s": [ours.get(cells) for cells in ladder.cells],
        "growth exponent": find_growth([x for x, _ in last], [y for _, y in last]),
        "climbs": [_record_climb(climb) for climb in ladder.climbs],
        "largest": LARGEST.record(
            (climb.solver, rung) for climb in ladder.climbs for rung in climb.rungs[-1:]
        ),
        "tolerances": {
            solver.name: solver.tolerances() for solver in ladder.model.solvers if solver.tolerances
        },
    }


def _record_climb(climb: Climb) -> Data:
    return {
        "solver": climb.solver.name,
        "s": {rung.step.label: rung.peer.seconds for rung in climb.rungs},
        "ratio": {rung.step.label: rung.ratio for rung in climb.rungs},
        "above ours": {rung.step.label: rung.difference for rung in climb.rungs},
        "growth exponent": climb.growth,
        "stopped at": climb.stopped_at.label if climb.stopped_at else None,
        "reason": climb.failure.reason if climb.failure else None,
        "too slow": bool(climb.failure and climb.failure.timed_out),
    }


def write(data: Data) -> str:
    """The section about one model."""
    exponents = [data["growth exponent"], *(climb["growth exponent"] for climb in data["climbs"])]
    times = [
        ("cells", *map("{:,}".format, data["cells"])),
        (f"`{data['mechanism']}`", *("" if s is None else write_seconds(s) for s in data["s"])),
        *_list_rows(data, "s", write_seconds),
    ]
    growth = ["", *("" if exponent is None else f"{exponent:.2f}" for exponent in exponents)]
    header = ("solver", *data["sizes"])
    whole = (
        "which are optimal, so it should be zero"
        if data["exact"]
        else "which are near the optimum, so it may be below"
    )
    stops = [
        f"- {climb['solver']} at {climb['stopped at']} sizes: {climb['reason']}"
        for climb in data["climbs"]
        if climb["stopped at"] and not climb["too slow"]
    ]
    return f"""## General solvers on Model {data["model"]}

The model as a sparse quadratic program, in the form *{data["form"]}*, given to solvers that
know nothing of hierarchies; beside each, `{data["mechanism"]}` on the same instance. Epsilon is
{EPSILON}; the sizes are of the invented city (the first figure's) and then of the invented nation. Every
solver ran in a process of its own, with at most {data["most seconds"]:.0f} s for an instance; the first that
it could not do was its last. Set-up and solving are timed, the matrices are written before; fast calls were
made several times, and ours {CALLS} times, for the best. Solvers for real numbers find the relaxed optimum
and leave rounding to others: ours, which rounds too, is timed with that.

Seconds; the growth exponent is over the largest {LEAST_SIZES} sizes that were solved:

{write_table((*header, "growth exponent"), [(*row, last) for row, last in zip(times, growth, strict=True)])}

![Time against cells, both logarithmic]({PLOTS[data["model"]]})

How many times longer than ours:

{write_table(header, _list_rows(data, "ratio", write_ratio))}

How far the objective is above ours, relatively: above our relaxed optimum, and for whole numbers above that
of our whole numbers ({whole}):

{write_table(header, _list_rows(data, "above ours", "{:+.0e}".format))}

At the largest size that each solved:

{LARGEST.write(data["largest"])}

They stop at: {"; ".join(f"{name}, {rule}" for name, rule in data["tolerances"].items())}.""" + (
        "\n\n" + "\n".join(stops) if stops else ""
    )


def _list_rows(data: Data, what: str, write: Callable[[float], str]) -> list[tuple[str, ...]]:
    """A cell for each solver and instance, or why it stopped there; nothing after that."""
    rows = []
    for climb in data["climbs"]:
        cells = {size: write(value) for size, value in climb[what].items()}
        if climb["stopped at"]:
            too_slow = f"over {data['most seconds']:.0f} s"
            cells[climb["stopped at"]] = too_slow if climb["too slow"] else "cannot, see below"
        rows.append((climb["solver"], *(cells.get(size, "") for size in data["sizes"])))
    return rows
