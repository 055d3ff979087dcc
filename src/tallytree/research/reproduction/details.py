"""The details of each dataset: figures by level, findings, EMD, rankings, our default, what is missing."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from tallytree.counts.group_counts import GroupCounts
from tallytree.datasets.census import LEAST_LARGE
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.privacy.door import measure_with_seed
from tallytree.privacy.noise import Advance, Ints, SeededNoise
from tallytree.research.evaluation import Simulation, evaluate
from tallytree.research.reproduction.document import (
    NEAR,
    Block,
    Finding,
    Goal,
    Heading,
    Items,
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
from tallytree.research.reproduction.duels import (
    Duel,
    compare_leaders,
    compare_leaves,
    compare_order,
    compare_relaxation,
    compare_violations,
    find_duels,
    judge_emd,
    judge_emd_ratio,
    judge_l1,
    write_duels,
)
from tallytree.research.reproduction.figures import draw_levels, write_distances, write_ranking
from tallytree.research.reproduction.paper_figures import CHAIN, KUO_EMD, KUO_EPSILON
from tallytree.research.reproduction.run_results import Result, Spread, Summary, select, spread
from tallytree.research.reproduction.study import Report
from tallytree.research.reproduction.study_data import CENSUS, KUO, Facts
from tallytree.sizes import count_sizes

# ``count-of-counts`` as the public code of Kuo et al. runs it: all regions have the same noise.
#
# That code re-creates one seeded generator for every region. Such noise does not give its epsilon, since it
# cancels in the difference of two regions; it is measured here only to understand published figures.


class SharedNoise(SeededNoise):
    """The same draws for every region, at every level: research only, and not private in any case."""

    def __init__(self, seed: int, sizes: int) -> None:
        super().__init__(seed)
        self._seed, self._sizes = seed, sizes

    def draw(self, scale: Fraction, count: int, advance: Advance) -> Ints:
        """Draw noise for one region, and repeat it for each region."""
        draws = SeededNoise(self._seed).draw(scale, self._sizes, advance)
        return np.tile(draws, count // self._sizes)


def measure_shared_noise(counts: GroupCounts, epsilon: str, seeds: int) -> list[Spread]:
    """Return the EMD with shared noise, level by level from the root."""
    method = CountOfCounts()
    plan = method.plan(counts.hierarchy, sizes=counts.sizes, epsilon=epsilon, bounds=counts.bounds)
    runs = []
    for seed in range(1, seeds + 1):
        noise = SharedNoise(seed, count_sizes(counts.sizes))
        noisy = measure_with_seed(plan, counts, noise=noise)
        run = Simulation(noisy, method.postprocess(noisy, total=counts.total), counts.total)
        runs.append([level["emd"] for level in evaluate(run, counts).to_pylist()])
    return [spread(level) for level in zip(*runs, strict=True)]


# Findings that give reasons and consequences.


def explain_leaves(results: Sequence[Result], facts: Facts) -> Iterator[Finding]:
    """Explain how many cells of a county must keep all noise to give its error, ours and the paper's."""
    both = find_both([result for result in results if result.label == DirectDP.name])
    if not both:
        return
    both.sort(key=lambda one: float(one.ours.epsilon))
    noise = [facts.regions[-1] * find_mean_noise(float(one.ours.leaf_scale)) / 1e3 for one in both]
    ours = [one.ours.l1[-1].mean / each for one, each in zip(both, noise, strict=True)]
    first = [one.ours.small_leaf.mean / each for one, each in zip(both, noise, strict=True)]
    theirs = [one.paper.l1[-1] / each for one, each in zip(both, noise, strict=True)]
    level = facts.levels[-1]
    text = (
        f"At level {level}, the L1 error of `{DirectDP.name}` is what so many cells of each {level} make if "
        f"they carry all their noise: at epsilon {several(one.ours.epsilon for one in both)}, "
        f"{several(map(number, ours))} here, of which {several(map(number, first))} have sizes 1 to 7, and "
        f"{several(map(number, theirs))} in the paper."
    )
    if theirs[-1] < LEAST_LARGE < ours[-1]:
        text += (
            " The paper's figures are as if its counties had hardly any households above size 7. Ours have "
            f"them at {number(facts.sizes_above_seven)} sizes above 7 in the mean, since the households "
            f"of 7 or more people have a mean size of {number(facts.mean_large)}."
        )
    if theirs[0] / theirs[-1] < first[0] / first[-1] - NEAR:
        text += (
            " And with more noise its errors grow less than the noise, as if many of its counts were small "
            "beside the noise, so that not being negative helps them. Those of these data are not, even "
            "in sizes 1 to 7. The paper does not tell enough about its data to say why."
        )
    yield Finding(None, text)


def explain_chain(results: Sequence[Result]) -> Iterator[Finding]:
    """Explain what the published chain's accuracy costs."""
    published = [result for result in results if result.label == CHAIN["published"].label]
    sound = [result for result in results if result.label == CHAIN["sound"].label]
    if not published or len(published) != len(sound):
        return
    losses = several(f"{float(result.real_epsilon):,.1f}" for result in published)
    ratios = between(divide(b.total.mean, a.total.mean) for a, b in zip(published, sound, strict=True))
    yield Finding(
        None,
        f"`{published[0].label}` has a real epsilon of {losses} where it states "
        f"{several(result.epsilon for result in published)}. With the noise that the stated epsilon asks "
        f"for (`{sound[0].label}`), its total L1 error is {ratios} times as large.",
    )


def name_best(tables: Sequence[Sequence[Result]], levels: Sequence[str]) -> Iterator[Finding]:
    """Name the most accurate of the mechanisms of equal privacy, by total L1 error and by EMD."""
    private = [[result for result in table if result.is_private] for table in tables]
    fair = [[result for result in table if not result.is_told_more] for table in private]
    if not all(fair):
        return
    equals = (
        "Of the mechanisms that really have the stated epsilon and are told the total number of groups only"
    )
    for name, measure in _list_measures(levels):
        best = [min(table, key=measure) for table in fair]
        told = at_epsilons((result.epsilon, f"`{result.label}`") for result in best)
        text = (
            f"{equals}, the least {name} has {told} ({several(number(measure(result)) for result in best)})."
        )
        more = [result for table in private for result in table if result.is_told_more]
        for label in dict.fromkeys(result.label for result in more):
            values = several(number(measure(result)) for result in more if result.label == label)
            text += f" `{label}`, which is told that of every region, has {values}."
        yield Finding(None, text)
        equals = "Of the same"


def _list_measures(levels: Sequence[str]) -> list[tuple[str, Callable[[Result], float]]]:
    def emd_at(place: int) -> Callable[[Result], float]:
        return lambda result: result.emd[place].mean

    return [
        ("total L1 error", lambda result: result.total.mean),
        *((f"EMD at level {level}", emd_at(place)) for place, level in enumerate(levels)),
    ]


def find_mean_noise(scale: float) -> float:
    """Return the mean of |X| for two-sided geometric noise: 2q / (1 - q^2) with q = exp(-1 / scale)."""
    q = math.exp(-1 / scale)
    return 2 * q / (1 - q * q)


# Findings about the Census data, compared with the paper's table; each agrees, disagrees or explains.

LEAST_EMD_RATIO = 15.0


def find_census(summary: Summary, epsilons: Sequence[str]) -> Iterator[Finding]:
    """Yield what both tables have in common, why they differ, and what follows."""
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
    """Judge the goals of the default mechanism: L1 and EMD."""
    return [*judge_l1(duels, levels), judge_emd_ratio(duels, levels, LEAST_EMD_RATIO)]


# Findings about the taxi data of Kuo et al. (VLDB 2018), compared with what they published.

MOST_EMD = (7_000.0, 4_500.0, 2_600.0)
"""The goals of ``cumulative-joint`` at epsilon 1, level by level."""


def find_kuo(summary: Summary, epsilons: Sequence[str], shared: Sequence[Spread]) -> Iterator[Finding]:
    """Compare with Kuo et al., and conclude; ``shared`` is the EMD with one noise vector for all regions."""
    yield from _compare(summary, shared)
    yield from compare_violations(summary.results)
    yield from explain_chain(summary.results)
    yield from name_best(
        [select(summary.results, epsilon) for epsilon in epsilons], summary.dataset.facts.levels
    )


def write_kuo(summary: Summary, shared: Sequence[Spread]) -> list[Block]:
    """Write the EMD level by level, as published and as measured."""
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
    """Judge the goals of the default mechanism: L1 and EMD."""
    return [*judge_l1(duels, levels), *judge_emd(duels, levels, KUO_EPSILON, MOST_EMD)]


def find_matched(summary: Summary) -> Result | None:
    """Find the result of our implementation of their method, at their epsilon."""
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


def write_details(report: Report) -> Iterator[Block]:
    """Write a section for each dataset, and notes on the mechanisms."""
    for summary in report.summaries:
        if summary.results:
            yield from _write_dataset(summary, report.settings.epsilons)
    yield from _write_caveats(report)
    yield from _write_missing(report)


def _write_dataset(summary: Summary, epsilons: Sequence[str]) -> Iterator[Block]:
    yield Heading(2, f"{summary.dataset.title} in detail")
    yield draw_levels(summary, epsilons)
    shared = _share_noise(summary)
    yield from _write_findings(_find(summary, epsilons, shared))
    if summary.dataset.name == KUO:
        yield from write_kuo(summary, shared)
    yield Heading(3, f"EMD, and errors in small sizes: {summary.dataset.title}")
    yield Paragraph(
        "EMD is the mean over a level's regions of the groups times the steps that they were moved along "
        "the sizes."
    )
    yield write_distances(summary, epsilons)
    yield Heading(3, f"Ranking by total L1 error: {summary.dataset.title}")
    yield write_ranking(summary, epsilons)
    levels = summary.dataset.facts.levels
    duels = find_duels(summary.results)
    judges = {CENSUS: judge_census, KUO: judge_kuo}
    judge = judges.get(summary.dataset.name)
    yield from write_duels(duels, judge(duels, levels) if judge else list(judge_l1(duels, levels)), levels)


def _share_noise(summary: Summary) -> list[Spread]:
    matched = find_matched(summary) if summary.dataset.name == KUO else None
    if not matched:
        return []
    return measure_shared_noise(summary.dataset.counts, KUO_EPSILON, matched.total.runs)


def _find(summary: Summary, epsilons: Sequence[str], shared: Sequence[Spread]) -> list[Finding]:
    if summary.dataset.name == CENSUS:
        return list(find_census(summary, epsilons))
    if summary.dataset.name == KUO:
        return list(find_kuo(summary, epsilons, shared))
    tables = [select(summary.results, epsilon) for epsilon in epsilons]
    plain = [result for table in tables for result in table if not result.paper]
    return [
        *compare_violations(plain),
        *explain_chain(summary.results),
        *name_best(tables, summary.dataset.facts.levels),
    ]


def _write_findings(findings: Sequence[Finding]) -> Iterator[Block]:
    for title, agrees in (
        ("It agrees", True),
        ("It does not agree", False),
        ("Why, and what follows", None),
    ):
        texts = [finding.text for finding in findings if finding.agrees is agrees]
        if texts:
            yield Heading(3, title)
            yield Items(texts)


def _write_caveats(report: Report) -> Iterator[Block]:
    variants = [result.variant for summary in report.summaries for result in summary.results]
    caveats = {variant.mechanism: variant.make().caveat for variant in variants}
    rows = [(f"`{name}`", caveat) for name, caveat in caveats.items() if caveat]
    if rows:
        yield Heading(2, "To be known about the mechanisms")
        yield Table(("mechanism", "what"), rows, left=2)


def _write_missing(report: Report) -> Iterator[Block]:
    rows = [
        (summary.dataset.title, f"`{missing.variant.label}`", ", ".join(missing.epsilons), missing.reason)
        for summary in report.summaries
        for missing in summary.missing
    ]
    if rows:
        yield Heading(2, "What gave no result")
        yield Table(("dataset", "mechanism", "epsilon", "why"), rows, left=4)
