"""What is said about the taxi data only: beside what Kuo et al. published on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tallytree as tt
from benchmarks.accuracy.comparisons import compare_violations
from benchmarks.accuracy.duels import Duel, judge_emd, judge_l1
from benchmarks.accuracy.explanations import explain_chain, name_best
from benchmarks.accuracy.facts import Facts
from benchmarks.accuracy.findings import NEAR, Finding, divide, is_near
from benchmarks.accuracy.published import KUO_EMD, KUO_EPSILON, TAXI_ZONES
from benchmarks.accuracy.results import Result, Spread
from benchmarks.accuracy.shared_noise import measure_shared_noise
from benchmarks.accuracy.taxi import FILE
from benchmarks.accuracy.wording import number, ratio, several, with_deviation
from benchmarks.goals import Goal
from benchmarks.markdown import write_table
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_joint import CumulativeJoint

MOST_EMD = (7_000.0, 4_500.0, 2_600.0)
"""Hoped for ``cumulative-joint`` at epsilon 1, level by level."""


@dataclass(frozen=True, eq=False)
class TaxiWords:
    """About these data."""

    facts: Facts
    counts: tt.GroupCounts

    def introduce(self) -> str:
        """With what they must not be compared with."""
        facts = self.facts
        _, halves, leaves = facts.regions
        return f"""\
How far each mechanism is from the truth on the taxi data of Kuo et al. (VLDB 2018), beside the figures that
they published. This page is written by the run that measured it.

The data (`{FILE}`, which are not part of this project) are used as published:
{facts.groups:,} groups of size 1 to {facts.largest:,} in {leaves} neighbourhoods of {halves} halves of
Manhattan. A group is a taxi in a neighbourhood, its size the number of its pickups there in 2013. The paper
(Fioretto et al.) has a taxi table too, but on other data, with {TAXI_ZONES} zones: its figures say nothing
about these, and are not shown."""

    def find(self, tables: Sequence[Sequence[Result]]) -> Iterator[Finding]:
        """Beside Kuo et al., and what follows."""
        results = [result for table in tables for result in table]
        yield from self._compare_kuo(results)
        yield from compare_violations(results)
        yield from explain_chain(results)
        yield from name_best(tables, self.facts.levels)

    def compare(self, results: Sequence[Result]) -> str:
        """EMD level by level."""
        columns = [
            (f"`{result.label}`, here", result.emd)
            for result in (_select(results, name) for name in (CountOfCounts.name, CumulativeJoint.name))
            if result
        ]
        ours = _select(results, CountOfCounts.name)
        if ours:
            columns.insert(1, (f"`{ours.label}`, all regions with the same noise", self._share_noise(ours)))
        rows = (
            [level, f"{figure:,.1f}", *(with_deviation(emd[place]) for _, emd in columns)]
            for place, (level, figure) in enumerate(zip(self.facts.levels, KUO_EMD, strict=True))
        )
        header = ("level", "Kuo et al., H_c, as published", *(name for name, _ in columns))
        return f"""## Beside Kuo et al., at epsilon {KUO_EPSILON}

EMD as they published it for their method H_c, and as measured here; `{CountOfCounts.name}` is our
implementation of that method. Their public code re-creates one seeded generator for every region, so that
all regions share one noise vector, where the method asks for independent noise. The column about that is
here to understand their figures: such noise cancels out between regions, and is not worth the epsilon.

{write_table(header, rows)}"""

    def judge(self, duels: Sequence[Duel]) -> list[Goal]:
        """L1 and EMD."""
        levels = self.facts.levels
        return [*judge_l1(duels, levels), *judge_emd(duels, levels, KUO_EPSILON, MOST_EMD)]

    def _compare_kuo(self, results: Sequence[Result]) -> Iterator[Finding]:
        ours = _select(results, CountOfCounts.name)
        if not ours:
            return
        ratios = [divide(here.mean, figure) for here, figure in zip(ours.emd, KUO_EMD, strict=True)]
        for level, here, figure, times in zip(self.facts.levels, ours.emd, KUO_EMD, ratios, strict=True):
            yield Finding(
                is_near(times),
                f"Level {level}, epsilon {KUO_EPSILON}: the EMD of `{ours.label}` is {number(here.mean)}, "
                f"{ratio(times)} times the {figure:,.1f} that Kuo et al. published for H_c.",
            )
        shared = self._share_noise(ours)
        again = [divide(here.mean, figure) for here, figure in zip(shared, KUO_EMD, strict=True)]
        yield Finding(
            None,
            f"With one noise vector for all regions, as in the public code of Kuo et al., the EMD of "
            f"`{ours.label}` is {several(number(here.mean) for here in shared)} from the root down, "
            f"{several(map(ratio, again))} times what they published. That is within {NEAR:.0%} "
            f"at {_count_near(again)} of {len(again)} levels; "
            f"with independent noise, {_count_near(ratios)} are.",
        )

    def _share_noise(self, ours: Result) -> Sequence[Spread]:
        return measure_shared_noise(self.counts, KUO_EPSILON, ours.total.runs)


def _count_near(ratios: Sequence[float]) -> int:
    return sum(map(is_near, ratios))


def _select(results: Sequence[Result], label: str) -> Result | None:
    return next((one for one in results if (one.label, one.epsilon) == (label, KUO_EPSILON)), None)
