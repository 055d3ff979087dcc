"""``cumulative-joint``, the default, against the paper's ``cumulative-dp``: ratios, and goals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.research.reproduction.document import (
    Block,
    Both,
    Finding,
    Goal,
    Heading,
    Paragraph,
    Table,
    at_epsilons,
    between,
    divide,
    find_both,
    is_near,
    number,
    ratio,
    several,
    with_deviation,
)
from tallytree.research.reproduction.run_results import Result, is_clear

# Findings about figures that are in both tables: they agree or they do not.


def compare_order(table: Sequence[Both]) -> Finding:
    """Compare the order of mechanisms, pair by pair, by total L1 error, at one epsilon."""
    ranked = sorted(table, key=lambda one: one.ours.total.mean)
    pairs = list(combinations(ranked, 2))
    close = [(a, b) for a, b in pairs if not is_clear(a.ours.total, b.ours.total)]
    turned = [
        (a, b) for a, b in pairs if is_clear(a.ours.total, b.ours.total) and a.paper.total > b.paper.total
    ]
    text = (
        f"Order by total L1 error at epsilon {table[0].ours.epsilon}: of {len(pairs)} pairs of mechanisms, "
        f"{len(pairs) - len(close) - len(turned)} stand as in the paper."
    )
    if turned:
        told = "; ".join(f"{_tell_total(a)} before {_tell_total(b)}" for a, b in turned)
        text += f" The other way round: {told}."
    if close:
        text += f" Too close to tell: {'; '.join(f'{a.name} and {b.name}' for a, b in close)}."
    return Finding(not turned, text)


def compare_leaders(tables: Sequence[Sequence[Both]], levels: Sequence[str]) -> Iterator[Finding]:
    """Compare which mechanism has the least L1 error at each level."""
    for place, level in enumerate(levels if tables else ()):
        best = [min(table, key=lambda one: one.ours.l1[place].mean) for table in tables]
        least = [min(one.paper.l1[place] for one in table) for table in tables]
        ours = at_epsilons((one.ours.epsilon, one.name) for one in best)
        values = several(one.tell(one.ours.l1[place].mean) for one in best)
        theirs = at_epsilons(
            (table[0].ours.epsilon, several(one.name for one in table if one.paper.l1[place] == first))
            for table, first in zip(tables, least, strict=True)
        )
        agrees = all(one.paper.l1[place] == first for one, first in zip(best, least, strict=True))
        yield Finding(
            agrees,
            f"Level {level}: the least L1 error has {ours} ({values})"
            + (", as in the paper." if agrees else f". In the paper: {theirs}."),
        )


def compare_leaves(table: Sequence[Both], level: str) -> Iterator[Finding]:
    """Compare the last level's errors, nearly all of the total, with the paper's, at one epsilon."""
    where = f"Level {level}, epsilon {table[0].ours.epsilon}"
    whole = [one.ours.l1[-1].mean / one.paper.l1[-1] for one in table]
    yield Finding(all(map(is_near, whole)), f"{where}: our L1 errors are {between(whole)} times the paper's.")
    first = [one.ours.small_leaf.mean / one.paper.l1[-1] for one in table]
    yield Finding(
        all(map(is_near, first)),
        f"{where}: our L1 errors in sizes 1 to 7 alone are {between(first)} times the paper's in all sizes.",
    )


def compare_violations(results: Sequence[Result]) -> Iterator[Finding]:
    """Compare the numbers of counts that do not add up."""
    promised = [result for result in results if result.variant.make().consistent]
    broken = dict.fromkeys(f"`{result.label}`" for result in promised if result.violations.mean)
    if broken:
        yield Finding(False, f"Counts of {several(broken)} do not add up, which they must: this is a bug.")
    elif promised:
        yield Finding(True, "The counts of all mechanisms that promise it add up, in every run.")
    rounded = [one for one in find_both(results) if one.ours not in promised]
    if rounded:
        ours = [one.ours.violations.mean for one in rounded]
        theirs = [one.paper.violations for one in rounded]
        yield Finding(
            all(is_near(a / b) for a, b in zip(ours, theirs, strict=True)),
            f"Rounding a relaxation breaks {between(ours)} sums (of a region and a size) here; the paper "
            f"counts {between(theirs)} subtrees with a broken sum.",
        )


def compare_relaxation(tables: Sequence[Sequence[Both]]) -> Iterator[Finding]:
    """Judge whether relaxing Model M_H costs accuracy: by the root's error and that of the exact optimum."""
    pairs = [
        (relaxed, exact)
        for table in tables
        for relaxed in table
        for exact in table
        if (relaxed.ours.label, exact.ours.label) == (DirectQP.name, DirectDP.name)
    ]
    if not pairs:
        return
    ours = [divide(relaxed.ours.l1[0].mean, exact.ours.l1[0].mean) for relaxed, exact in pairs]
    theirs = [relaxed.paper.l1[0] / exact.paper.l1[0] for relaxed, exact in pairs]
    agrees = all(is_near(a / b) for a, b in zip(ours, theirs, strict=True))
    text = (
        f"At the root, `{DirectQP.name}` has {between(ours)} times the L1 error of `{DirectDP.name}`, in the "
        f"paper {between(theirs)} times."
    )
    if not agrees and all(map(is_near, ours)):
        text += (
            " Both minimise the same function, and a relaxation that is solved accurately loses little by "
            "being rounded: the paper's loss must come from elsewhere, such as its solver's tolerances."
        )
    yield Finding(agrees, text)


def _tell_total(one: Both) -> str:
    return f"{one.name} ({one.tell(one.ours.total.mean)}, in the paper {number(one.paper.total)})"


MOST_L1 = 1.01
"""The largest L1 error allowed at any level, as a multiple of the other's."""
OURS, THEIRS = f"`{CumulativeJoint.name}`", f"`{CumulativeDP.name}`"


@dataclass(frozen=True)
class Duel:
    """Both at one epsilon, which is the real one of both. Ratios are of means over the seeds."""

    joint: Result
    dp: Result

    @property
    def epsilon(self) -> str:
        """The epsilon of both."""
        return self.joint.epsilon

    @property
    def l1(self) -> list[float]:
        """Our L1 error as a multiple of the other's, level by level."""
        return [divide(a.mean, b.mean) for a, b in zip(self.joint.l1, self.dp.l1, strict=True)]

    @property
    def total(self) -> float:
        """Our total L1 error as a multiple of the other's."""
        return divide(self.joint.total.mean, self.dp.total.mean)

    @property
    def emd(self) -> list[float]:
        """How many times smaller our EMD is, level by level."""
        return [divide(b.mean, a.mean) for a, b in zip(self.joint.emd, self.dp.emd, strict=True)]


def find_duels(results: Sequence[Result]) -> list[Duel]:
    """Return the comparisons at each epsilon where both were measured, with the requested epsilon."""
    private = [result for result in results if result.is_private]
    ours = {result.epsilon: result for result in private if result.label == CumulativeJoint.name}
    theirs = {result.epsilon: result for result in private if result.label == CumulativeDP.name}
    return [Duel(result, theirs[epsilon]) for epsilon, result in ours.items() if epsilon in theirs]


def write_duels(duels: Sequence[Duel], goals: Sequence[Goal], levels: Sequence[str]) -> list[Block]:
    """Write the section on one dataset."""
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
    """Judge whether L1 is at no level noticeably worse, and better in total."""
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
    """Judge whether EMD is ``least`` times smaller at every level and epsilon."""
    statement = f"EMD at every level at least {least:.0f} times smaller than that of {THEIRS}"
    if not duels:
        return Goal.open(statement)
    found, where = min(_list_ratios((duel.epsilon, duel.emd) for duel in duels), key=lambda each: each[0])
    return Goal(statement, f"{number(found)} times at the least, {where.tell(levels)}", found >= least)


def judge_emd(
    duels: Sequence[Duel], levels: Sequence[str], epsilon: str, most: Sequence[float]
) -> Iterator[Goal]:
    """Judge whether EMD is below ``most``, level by level, at one epsilon."""
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
