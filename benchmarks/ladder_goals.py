"""What was hoped for beside general solvers: that they agree."""

from collections.abc import Sequence

from benchmarks.ladders import Ladder
from tallytree.research.reproduction.document import Goal

AGREEMENT = 1e-6


def judge_ladders(ladders: Sequence[Ladder]) -> list[Goal]:
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
