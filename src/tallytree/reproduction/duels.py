"""``cumulative-joint``, the default, against the paper's ``cumulative-dp``: ratios, and what was hoped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.reproduction.document import Block, Heading, Paragraph, Table
from tallytree.reproduction.findings import divide
from tallytree.reproduction.goals import Goal
from tallytree.reproduction.results import Result
from tallytree.reproduction.wording import number, ratio, with_deviation

MOST_L1 = 1.01
"""The L1 error at any level, as a multiple of the other's."""
OURS, THEIRS = f"`{CumulativeJoint.name}`", f"`{CumulativeDP.name}`"


@dataclass(frozen=True)
class Duel:
    """Both at one epsilon, which is what their noise is really worth. Ratios are of means over the seeds."""

    joint: Result
    dp: Result

    @property
    def epsilon(self) -> str:
        """Of both."""
        return self.joint.epsilon

    @property
    def l1(self) -> list[float]:
        """Level by level, ours as a multiple of the other's."""
        return [divide(a.mean, b.mean) for a, b in zip(self.joint.l1, self.dp.l1, strict=True)]

    @property
    def total(self) -> float:
        """The same of the total L1 error."""
        return divide(self.joint.total.mean, self.dp.total.mean)

    @property
    def emd(self) -> list[float]:
        """Level by level, how many times smaller ours is."""
        return [divide(b.mean, a.mean) for a, b in zip(self.joint.emd, self.dp.emd, strict=True)]


def find_duels(results: Sequence[Result]) -> list[Duel]:
    """Wherever both were measured, with the epsilon that was asked for."""
    private = [result for result in results if result.is_private]
    ours = {result.epsilon: result for result in private if result.label == CumulativeJoint.name}
    theirs = {result.epsilon: result for result in private if result.label == CumulativeDP.name}
    return [Duel(result, theirs[epsilon]) for epsilon, result in ours.items() if epsilon in theirs]


def write_duels(duels: Sequence[Duel], goals: Sequence[Goal], levels: Sequence[str]) -> list[Block]:
    """The section on one dataset."""
    header = ("epsilon", "level", f"L1, {OURS}", f"L1, {THEIRS}", "ratio", f"EMD, {OURS}", f"EMD, {THEIRS}",
              "times smaller")  # fmt: skip
    met = sum(goal.met for goal in goals)
    told: list[Block] = [Paragraph("At least one of them was not measured.")]
    if duels:
        told = [Table(header, [row for duel in duels for row in _write_rows(duel, levels)], left=2)]
    judged = [(goal.statement, goal.measured, "yes" if goal.met else "**no**") for goal in goals]
    return [
        Heading(3, f"{OURS} against {THEIRS}"),
        Paragraph(
            "The default of this project beside the paper's mechanism on the same query. Both get the same "
            "noise for the same instance, and both really have the stated epsilon. *Ratio* is the L1 error "
            f"of {OURS} divided by that of {THEIRS}, *times smaller* the EMD of {THEIRS} divided by that of "
            f"{OURS}; both are ratios of means."
        ),
        *told,
        Paragraph(
            f"Goals met: {met} of {len(goals)}. Each is judged by the least favourable of the numbers that "
            "it is about."
        ),
        Table(("goal", "measured", "met"), judged, left=3),
    ]


def judge_l1(duels: Sequence[Duel], levels: Sequence[str]) -> Iterator[Goal]:
    """At no level noticeably worse, and better in all."""
    statement = f"L1 error at no level more than {MOST_L1 - 1:.0%} above that of {THEIRS}"
    better = f"Total L1 error below that of {THEIRS}"
    if not duels:
        yield from map(Goal.open, (statement, better))
        return
    most, where = max(_list_ratios((duel.epsilon, duel.l1) for duel in duels), key=lambda each: each[0])
    yield Goal(statement, f"{ratio(most)} times at the most, {where.tell(levels)}", most <= MOST_L1)
    worst = max(duels, key=lambda duel: duel.total)
    yield Goal(better, f"{ratio(worst.total)} times at the most, epsilon {worst.epsilon}", worst.total < 1)


def judge_emd_ratio(duels: Sequence[Duel], levels: Sequence[str], least: float) -> Goal:
    """So many times smaller at every level and epsilon."""
    statement = f"EMD at every level at least {least:.0f} times smaller than that of {THEIRS}"
    if not duels:
        return Goal.open(statement)
    found, where = min(_list_ratios((duel.epsilon, duel.emd) for duel in duels), key=lambda each: each[0])
    return Goal(statement, f"{number(found)} times at the least, {where.tell(levels)}", found >= least)


def judge_emd(
    duels: Sequence[Duel], levels: Sequence[str], epsilon: str, most: Sequence[float]
) -> Iterator[Goal]:
    """Level by level below a figure, at one epsilon."""
    for place, (level, figure) in enumerate(zip(levels, most, strict=True)):
        statement = f"EMD at level {level} below {figure:,.0f} at epsilon {epsilon}"
        found = [duel.joint.emd[place] for duel in duels if duel.epsilon == epsilon]
        yield (
            Goal(statement, with_deviation(found[0]), found[0].mean < figure)
            if found
            else Goal.open(statement)
        )


@dataclass(frozen=True)
class _Where:
    epsilon: str
    place: int

    def tell(self, levels: Sequence[str]) -> str:
        return f"level {levels[self.place]}, epsilon {self.epsilon}"


def _list_ratios(ratios: Iterator[tuple[str, list[float]]]) -> list[tuple[float, _Where]]:
    return [(value, _Where(epsilon, place)) for epsilon, row in ratios for place, value in enumerate(row)]


def _write_rows(duel: Duel, levels: Sequence[str]) -> Iterator[Sequence[str]]:
    for place, level in enumerate(levels):
        yield [
            duel.epsilon,
            level,
            with_deviation(duel.joint.l1[place]),
            with_deviation(duel.dp.l1[place]),
            ratio(duel.l1[place]),
            with_deviation(duel.joint.emd[place]),
            with_deviation(duel.dp.emd[place]),
            number(duel.emd[place]),
        ]
    totals = with_deviation(duel.joint.total), with_deviation(duel.dp.total)
    yield [duel.epsilon, "total", *totals, ratio(duel.total), "", "", ""]
