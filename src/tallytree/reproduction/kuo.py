"""Findings about the taxi data of Kuo et al. (VLDB 2018), beside what they published on them."""

from collections.abc import Iterator, Sequence

from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.reproduction.comparisons import compare_violations
from tallytree.reproduction.document import Block, Heading, Paragraph, Table
from tallytree.reproduction.duels import Duel, judge_emd, judge_l1
from tallytree.reproduction.explanations import explain_chain, name_best
from tallytree.reproduction.findings import NEAR, Finding, divide, is_near
from tallytree.reproduction.goals import Goal
from tallytree.reproduction.published import KUO_EMD, KUO_EPSILON
from tallytree.reproduction.results import Result, Spread, Summary, select
from tallytree.reproduction.wording import number, ratio, several, with_deviation

MOST_EMD = (7_000.0, 4_500.0, 2_600.0)
"""Hoped for ``cumulative-joint`` at epsilon 1, level by level."""


def find_kuo(summary: Summary, epsilons: Sequence[str], shared: Sequence[Spread]) -> Iterator[Finding]:
    """Beside Kuo et al., and what follows; ``shared`` is the EMD with one noise vector for all regions."""
    yield from _compare(summary, shared)
    yield from compare_violations(summary.results)
    yield from explain_chain(summary.results)
    yield from name_best(
        [select(summary.results, epsilon) for epsilon in epsilons], summary.dataset.facts.levels
    )


def write_kuo(summary: Summary, shared: Sequence[Spread]) -> list[Block]:
    """EMD level by level, as published and as measured."""
    columns: list[tuple[str, Sequence[Spread]]] = []
    for name in (CountOfCounts.name, CumulativeJoint.name):
        if result := summary.find(name, KUO_EPSILON):
            columns.append((f"`{result.label}`, here", result.emd))
    if shared:
        columns.insert(1, (f"`{CountOfCounts.name}`, all regions with the same noise", shared))
    rows = [
        [level, f"{figure:,.1f}", *(with_deviation(emd[place]) for _, emd in columns)]
        for place, (level, figure) in enumerate(zip(summary.dataset.facts.levels, KUO_EMD, strict=True))
    ]
    return [
        Heading(3, f"Beside Kuo et al., at epsilon {KUO_EPSILON}"),
        Paragraph(
            f"EMD as they published it for their method H_c, and as measured here; `{CountOfCounts.name}` "
            "is our implementation of that method. Their public code re-creates one seeded generator for "
            "every region, so that all regions share one noise vector, where the method asks for "
            "independent noise. The column about that is here to understand their figures: such noise "
            "cancels out between regions, and is not worth the epsilon."
        ),
        Table(("level", "Kuo et al., H_c, as published", *(name for name, _ in columns)), rows),
    ]


def judge_kuo(duels: Sequence[Duel], levels: Sequence[str]) -> list[Goal]:
    """What was hoped for the default: L1 and EMD."""
    return [*judge_l1(duels, levels), *judge_emd(duels, levels, KUO_EPSILON, MOST_EMD)]


def find_matched(summary: Summary) -> Result | None:
    """Our implementation of their method, at their epsilon."""
    return summary.find(CountOfCounts.name, KUO_EPSILON)


def _compare(summary: Summary, shared: Sequence[Spread]) -> Iterator[Finding]:
    ours = find_matched(summary)
    if not ours:
        return
    ratios = [divide(here.mean, figure) for here, figure in zip(ours.emd, KUO_EMD, strict=True)]
    levels = summary.dataset.facts.levels
    for level, here, figure, times in zip(levels, ours.emd, KUO_EMD, ratios, strict=True):
        yield Finding(
            is_near(times),
            f"Level {level}, epsilon {KUO_EPSILON}: the EMD of `{ours.label}` is {number(here.mean)}, "
            f"{ratio(times)} times the {figure:,.1f} that Kuo et al. published for H_c.",
        )
    if not shared:
        return
    again = [divide(here.mean, figure) for here, figure in zip(shared, KUO_EMD, strict=True)]
    yield Finding(
        None,
        f"With one noise vector for all regions, as in the public code of Kuo et al., the EMD of "
        f"`{ours.label}` is {several(number(here.mean) for here in shared)} from the root down, "
        f"{several(map(ratio, again))} times what they published. That is within {NEAR:.0%} "
        f"at {_count_near(again)} of {len(again)} levels; "
        f"with independent noise, {_count_near(ratios)} are.",
    )


def _count_near(ratios: Sequence[float]) -> int:
    return sum(map(is_near, ratios))
