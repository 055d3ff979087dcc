"""Findings about the Census data, beside the paper's table; each agrees, disagrees or explains."""

from collections.abc import Iterator, Sequence

from tallytree.reproduction.comparisons import (
    compare_leaders,
    compare_leaves,
    compare_order,
    compare_relaxation,
    compare_violations,
)
from tallytree.reproduction.duels import Duel, judge_emd_ratio, judge_l1
from tallytree.reproduction.explanations import explain_chain, explain_leaves, name_best
from tallytree.reproduction.findings import Finding, find_both
from tallytree.reproduction.goals import Goal
from tallytree.reproduction.results import Summary, select

LEAST_EMD_RATIO = 15.0


def find_census(summary: Summary, epsilons: Sequence[str]) -> Iterator[Finding]:
    """What both tables have, why they differ, and what follows."""
    tables = [select(summary.results, epsilon) for epsilon in epsilons]
    facts = summary.dataset.facts
    both = [table for table in map(find_both, tables) if table]
    yield from map(compare_order, both)
    yield from compare_leaders(both, facts.levels)
    for table in both:
        yield from compare_leaves(table, facts.levels[-1])
    yield from compare_violations(summary.results)
    yield from compare_relaxation(both)
    yield from explain_leaves(summary.results, facts)
    yield from explain_chain(summary.results)
    yield from name_best(tables, facts.levels)


def judge_census(duels: Sequence[Duel], levels: Sequence[str]) -> list[Goal]:
    """What was hoped for the default: L1 and EMD."""
    return [*judge_l1(duels, levels), judge_emd_ratio(duels, levels, LEAST_EMD_RATIO)]
