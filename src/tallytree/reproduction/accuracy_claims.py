"""What the paper says about accuracy, beside what was measured."""

from collections.abc import Iterator, Sequence

from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_qp import CumulativeQP
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.reproduction.datasets import CENSUS
from tallytree.reproduction.document import Claim, Verdict
from tallytree.reproduction.findings import divide
from tallytree.reproduction.results import Result, Summary, is_clear, select
from tallytree.reproduction.variants import CHAIN
from tallytree.reproduction.wording import between, number, percent, several

UNKNOWN = "They were not both measured."
CLEAR_POINTS = 0.05
"""Shares of the error that differ by less are taken for the same."""


def claim_accuracy(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Iterator[Claim]:
    """The observations of the paper's section, in its order."""
    yield claim_chain(summaries, epsilons)
    yield claim_exactness(summaries, epsilons)
    yield claim_decrease(summaries, epsilons)
    yield claim_larger_on_taxis(summaries, epsilons)
    yield claim_small_sizes(summaries, epsilons)
    yield claim_violations(summaries)


def claim_chain(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Its lead, and what that costs."""
    claim = "M_c^ch dominates all other mechanisms, TopDown included."
    leads, losses, sound, behind = [], [], [], []
    for summary in summaries:
        title = summary.dataset.title
        found = [
            (published, summary.find(CHAIN["sound"].label, epsilon), select(summary.results, epsilon))
            for epsilon in epsilons
            if (published := summary.find(CHAIN["published"].label, epsilon))
        ]
        if not found:
            continue
        first = sum(_leads(published, table) for published, _, table in found)
        leads.append((first, len(found) * len(summary.dataset.facts.levels)))
        losses.append(
            f"{several(f'{float(one.real_epsilon):,.1f}' for one, _, _ in found)} on {title}, "
            f"{summary.dataset.facts.chain_factor:,.0f} times what it states"
        )
        ratios = [divide(other.total.mean, one.total.mean) for one, other, _ in found if other]
        if ratios:
            sound.append(f"{between(ratios)} times on {title}")
        behind += [
            _leads(other, [each for each in table if each.is_fair]) for _, other, table in found if other
        ]
    if not leads:
        return Claim("Accuracy, 1", claim, Verdict.UNKNOWN, "The published chain was not measured.")
    led, all_levels = (sum(values) for values in zip(*leads, strict=True))
    evidence = (
        f"As published it has the least L1 error at {led} of {all_levels} (datasets, levels and epsilons), "
        f"for a real epsilon of {'; '.join(losses)}."
    )
    if sound:
        evidence += (
            f" With the noise that the stated epsilon asks for (`{CHAIN['sound'].label}`) its total error is "
            f"{several(sound)} as large, and it has the least at {sum(behind)} of {all_levels}."
        )
    why = (
        "The paper takes the sensitivity of the chain for 1; it is the number of regions at the level, "
        "since one group that moves changes all entries of the chain between its old place and its new one."
    )
    factors = between(summary.dataset.facts.chain_factor for summary in summaries)
    short = (
        f"The lead of the published M_c^ch: the least L1 error at {led} of {all_levels} places, for a real "
        f"epsilon that is {factors} times what it states. With the noise that its epsilon asks for, it "
        f"leads at {sum(behind)}."
    )
    verdict = Verdict.HOLDS if sound and sum(behind) == all_levels else Verdict.FAILS
    return Claim("Accuracy, 1; Table", claim, verdict, evidence, why, short)


def _leads(result: Result, table: Sequence[Result]) -> int:
    """At how many levels it has the least error of those told the total number of groups only."""
    return sum(
        result.l1[place].mean <= min(each.l1[place].mean for each in table if not each.is_told_more)
        for place in range(len(result.l1))
    )


def claim_exactness(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Whether the exact mechanisms are more accurate than the relaxations."""
    claim = "The DP mechanisms are more accurate than the relaxations (M_H^dp than M_H^r, M_c^dp than M_c^r)."
    told, outcomes = [], []
    for exact, relaxed in ((DirectDP.name, DirectQP.name), (CumulativeDP.name, CumulativeQP.name)):
        for summary in summaries:
            pairs = [
                (one, other)
                for epsilon in epsilons
                if (one := summary.find(exact, epsilon)) and (other := summary.find(relaxed, epsilon))
            ]
            if pairs:
                ratios = between(divide(other.total.mean, one.total.mean) for one, other in pairs)
                told.append(
                    f"`{relaxed}` has {ratios} times the error of `{exact}` on {summary.dataset.title}"
                )
                outcomes += [
                    is_clear(one.total, other.total) and one.total.mean < other.total.mean
                    for one, other in pairs
                ]
    if not outcomes:
        return Claim("Accuracy, 1", claim, Verdict.UNKNOWN, UNKNOWN)
    verdict = Verdict.HOLDS if all(outcomes) else Verdict.PARTLY if any(outcomes) else Verdict.FAILS
    why = (
        "Both of a pair minimise the same kind of function of the same noisy answers. A relaxation that is "
        "solved accurately loses little by being rounded; what it loses is that the counts do not add up."
    )
    return Claim(
        "Accuracy, 1", claim, verdict, f"{'; '.join(told)}.", "" if verdict == Verdict.HOLDS else why
    )


def claim_decrease(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Less noise, less error."""
    claim = "The error of all mechanisms decreases as epsilon increases."
    rising, falls = [], []
    for summary in summaries:
        for label in dict.fromkeys(result.label for result in summary.results):
            found = [one for epsilon in epsilons if (one := summary.find(label, epsilon))]
            totals = [one.total.mean for one in sorted(found, key=lambda one: float(one.epsilon))]
            if len(totals) > 1:
                if totals != sorted(totals, reverse=True):
                    rising.append(f"`{label}` on {summary.dataset.title}")
                falls.append(totals[0] / totals[-1] if totals[-1] else 1.0)
    if not falls:
        return Claim("Accuracy, 2", claim, Verdict.UNKNOWN, "There was one epsilon only.")
    evidence = (
        f"From the least epsilon to the largest, total errors fall by a factor of {between(falls)} over all "
        "mechanisms and datasets."
    )
    if not rising:
        return Claim("Accuracy, 2", claim, Verdict.HOLDS, evidence)
    return Claim("Accuracy, 2", claim, Verdict.PARTLY, f"{evidence} Not so: {several(rising)}.")


def claim_larger_on_taxis(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Whether more sizes mean more error."""
    claim = "The errors are larger on Taxi than on Census, as Taxi has more sizes."
    census = next((summary for summary in summaries if summary.dataset.name == CENSUS), None)
    others = [summary for summary in summaries if summary.dataset.name != CENSUS]
    told, larger = [], []
    for summary in others if census else ():
        ratios = [
            divide(here.total.mean, there.total.mean)
            for there in (census.results if census else ())
            if (here := summary.find(there.label, there.epsilon)) and there.is_fair and there.paper
        ]
        if ratios:
            larger += [value > 1 for value in ratios]
            facts = summary.dataset.facts
            told.append(
                f"{between(ratios)} times those on Census on {summary.dataset.title}, where an error over "
                f"all levels can be at most {number(len(facts.levels) * facts.most_l1 / 1e3)} thousand"
            )
    if not told:
        return Claim("Accuracy, 2", claim, Verdict.UNKNOWN, UNKNOWN)
    verdict = Verdict.HOLDS if all(larger) else Verdict.PARTLY if any(larger) else Verdict.FAILS
    why = (
        "There are fewer groups and fewer regions. Where most cells are empty, it is the groups that limit "
        "the error, not the sizes: it cannot exceed twice their number."
    )
    return Claim(
        "Accuracy, 2",
        claim,
        verdict,
        f"Total L1 errors of the paper's mechanisms of equal privacy are {several(told)}.",
        "" if verdict == Verdict.HOLDS else why,
    )


def claim_small_sizes(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Whether the cumulative mechanisms concentrate errors on small sizes."""
    claim = (
        "The cumulative mechanisms concentrate the errors on small sizes, which are the most populated; "
        "M_c^dp redistributes them better than M_c^r."
    )
    told: list[str] = []
    gaps: list[float] = []
    for summary in summaries:
        facts = summary.dataset.facts
        pairs = [
            (one, other)
            for epsilon in epsilons
            if (one := summary.find(CumulativeDP.name, epsilon))
            and (other := summary.find(DirectDP.name, epsilon))
        ]
        if not pairs:
            continue
        gaps += [one.small_share - other.small_share for one, other in pairs]
        text = (
            f"{summary.dataset.title}, level {facts.levels[-1]}, sizes up to {facts.small:,} "
            f"({percent(facts.small_groups)} of the groups): at epsilon "
            f"{several(one.epsilon for one, _ in pairs)}, "
            f"{several(percent(one.small_share) for one, _ in pairs)} of the error of `{CumulativeDP.name}` "
            f"is there, and {several(percent(other.small_share) for _, other in pairs)} of that of "
            f"`{DirectDP.name}`"
        )
        relaxed = [one for epsilon in epsilons if (one := summary.find(CumulativeQP.name, epsilon))]
        if relaxed:
            shares = several(percent(one.small_share) for one in relaxed)
            text += f"; of `{CumulativeQP.name}`, {shares}"
        told.append(text)
    if not told:
        return Claim("Accuracy, 3", claim, Verdict.UNKNOWN, UNKNOWN)
    more = [gap > CLEAR_POINTS for gap in gaps]
    verdict = Verdict.HOLDS if all(more) else Verdict.PARTLY if any(more) else Verdict.FAILS
    why = (
        "Errors are where the groups are: where a region has no groups, cumulative counts are flat, and a "
        "fit that must not decrease averages the noise away. Noisy sizes that must not be negative keep "
        "half of it there."
    )
    return Claim("Accuracy, 3", claim, verdict, f"{'. '.join(told)}.", why, _shorten(verdict, gaps))


def _shorten(verdict: Verdict, gaps: Sequence[float]) -> str:
    low, high = (f"{100 * pick(gaps):+.0f}" for pick in (min, max))
    return (
        f"Cumulative mechanisms concentrate errors on small sizes: **{verdict.value}**. The share of the "
        f"error there differs from that of the direct mechanism by {low} to {high} percentage points."
    )


def claim_violations(summaries: Sequence[Summary]) -> Claim:
    """Who keeps the sums."""
    claim = "The relaxations M_H^r and M_c^r violate the sums, the DP mechanisms and TopDown never do."
    results = [result for summary in summaries for result in summary.results]
    kept = [result for result in results if result.variant.make().consistent]
    broken = [result for result in results if not result.variant.make().consistent]
    wrong = dict.fromkeys(f"`{result.label}`" for result in kept if result.violations.mean)
    if not kept or not broken:
        return Claim("Table", claim, Verdict.UNKNOWN, UNKNOWN)
    evidence = (
        f"The relaxations break {between(result.violations.mean for result in broken)} sums (of a region "
        "and a size) in the mean of their runs; "
        + (
            f"of the others, {several(wrong)} break some: this is a bug."
            if wrong
            else f"the others, `{CountOfCounts.name}` and our own included, none in any run."
        )
    )
    holds = not wrong and all(result.violations.mean for result in broken)
    return Claim("Table", claim, Verdict.HOLDS if holds else Verdict.FAILS, evidence)
