"""Findings that say why, and what follows."""

import math
from collections.abc import Callable, Iterator, Sequence

from tallytree.datasets.county_tables import LEAST_LARGE
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.reproduction.facts import Facts
from tallytree.reproduction.findings import NEAR, Finding, divide, find_both
from tallytree.reproduction.results import Result
from tallytree.reproduction.variants import CHAIN
from tallytree.reproduction.wording import at_epsilons, between, number, several


def explain_leaves(results: Sequence[Result], facts: Facts) -> Iterator[Finding]:
    """How many cells of a county must carry all their noise to make its error, ours and the paper's."""
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
    """What the published chain's accuracy costs."""
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
    """Who is nearest to the truth among mechanisms of equal privacy, by total L1 error and by EMD."""
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
    """The mean of |X| of two-sided geometric noise: 2q / (1 - q^2) with q = exp(-1 / scale)."""
    q = math.exp(-1 / scale)
    return 2 * q / (1 - q * q)
