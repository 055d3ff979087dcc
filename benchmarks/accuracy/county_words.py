"""What is said about the county data only: beside the paper's Census table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.census import FILE
from benchmarks.accuracy.comparisons import (
    compare_leaders,
    compare_leaves,
    compare_order,
    compare_relaxation,
    compare_violations,
)
from benchmarks.accuracy.duels import Duel, judge_emd_ratio, judge_l1
from benchmarks.accuracy.explanations import explain_chain, explain_leaves, name_best
from benchmarks.accuracy.facts import CountyFacts
from benchmarks.accuracy.findings import Finding, find_both
from benchmarks.accuracy.published import COUNTIES, GROUPS, STATES
from benchmarks.accuracy.results import Result
from benchmarks.goals import Goal
from tallytree.datasets.census import LEAST_OUTLIER, OUTLIERS
from tallytree.datasets.county_tables import LEAST_LARGE

LEAST_EMD_RATIO = 15.0


@dataclass(frozen=True)
class CountyWords:
    """About these data."""

    facts: CountyFacts

    def introduce(self) -> str:
        """With the recipe."""
        facts = self.facts
        _, states, counties = facts.regions
        return f"""\
How far each mechanism is from the truth on real data, beside the paper's own table (its section on
accuracy, Census half). This page is written by the run that measured it.

The data are made from the 2010 Census table of household sizes by county
(`{FILE}`, which is not part of this project) by the paper's recipe: sizes 1 to 6 as
published; the households of {LEAST_LARGE} or more spread over a geometric tail with ratio
{facts.tail_ratio:.4f}, which gives them their published mean size of {facts.mean_large:.2f}; {OUTLIERS}
outliers of size {LEAST_OUTLIER} to {facts.largest:,}. How exactly, and what the paper leaves open, is said
in `tallytree.datasets.census`. These are {facts.groups:,} groups in {counties:,} counties of {states:,}
states; the paper has {GROUPS:,} groups in {COUNTIES:,} counties of {STATES} states, with Puerto Rico, which
the table lacks."""

    def find(self, tables: Sequence[Sequence[Result]]) -> Iterator[Finding]:
        """What both tables have, why they differ, and what follows."""
        results = [result for table in tables for result in table]
        levels = self.facts.levels
        both = [table for table in map(find_both, tables) if table]
        yield from map(compare_order, both)
        yield from compare_leaders(both, levels)
        for table in both:
            yield from compare_leaves(table, levels[-1])
        yield from compare_violations(results)
        yield from compare_relaxation(both)
        yield from explain_leaves(results, self.facts)
        yield from explain_chain(results)
        yield from name_best(tables, levels)

    def compare(self, results: Sequence[Result]) -> str:
        """The paper's figures are in the tables."""
        return ""

    def judge(self, duels: Sequence[Duel]) -> list[Goal]:
        """L1 and EMD."""
        levels = self.facts.levels
        return [*judge_l1(duels, levels), judge_emd_ratio(duels, levels, LEAST_EMD_RATIO)]
