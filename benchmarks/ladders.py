"""General solvers on ever larger instances of a model, until one takes too long; ours beside each of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import tallytree as tt
from benchmarks import relaxed_points, relaxed_trees
from benchmarks.attempts import tell
from benchmarks.comparison import RelaxedRace, time_ours
from benchmarks.instances import Instance, make_nation, measure_counts
from benchmarks.memory import peak_memory, reset_peak
from benchmarks.programs import DIRECT_FORMS, JOINT_FORMS, Form, write_program
from benchmarks.solvers import DIRECT_SOLVERS, JOINT_SOLVERS, Solver
from benchmarks.solvers.outcome import Outcome, Posed
from benchmarks.timing import LEAST_SIZES, Timing, find_growth, time_call
from benchmarks.variants import DIRECT, PLAIN_JOINT
from tallytree.datasets.invented import generate_city
from tallytree.errors import MechanismError
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
    relax: Callable[[Instance], float]
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
        Model("M_H", DIRECT, DIRECT_FORMS[-1], relax_direct, DIRECT_SOLVERS),
        Model("M_c", PLAIN_JOINT, JOINT_FORMS[-1], relax_joint, JOINT_SOLVERS),
    )


def relax_direct(instance: Instance) -> float:
    """Our relaxed optimum of Model M_H."""
    return relaxed_trees.relax_instance(instance).objective


def relax_joint(instance: Instance) -> float:
    """Our relaxed optimum of Model M_c."""
    return relaxed_points.relax_instance(instance).objective


def measure_ladder(model: Model, steps: Sequence[Step], most_seconds: float) -> Ladder:
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
        reference = float(solution.objective) if solver.whole else model.relax(instance)
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
