"""What the paper says about accuracy, compared with what was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_qp import CumulativeQP
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.research.reproduction.document import (
    Both,
    Claim,
    Verdict,
    between,
    divide,
    find_both,
    number,
    percent,
    several,
)
from tallytree.research.reproduction.paper_figures import CHAIN, TAXI_TABLE, TAXIS, Published, list_contenders
from tallytree.research.reproduction.run_results import Result, Summary, is_clear, select
from tallytree.research.reproduction.study_data import CENSUS, TAXI

# The order of the mechanisms at each level, compared with the paper's: only where privacy is equal.


@dataclass(frozen=True)
class Reversal:
    """Two mechanisms in the opposite order to the paper's: ``first`` has the smaller error here."""

    summary: Summary
    epsilon: str
    place: int
    first: Both
    second: Both

    def tell(self) -> str:
        """Describe the reversal, with the numbers."""
        ours = [number(each.ours.l1[self.place].mean) for each in (self.first, self.second)]
        theirs = [number(each.paper.l1[self.place]) for each in (self.first, self.second)]
        return (
            f"{self.first.name} before {self.second.name} at epsilon {self.epsilon} "
            f"({ours[0]} and {ours[1]}, in the paper {theirs[0]} and {theirs[1]})"
        )


@dataclass(frozen=True)
class Order:
    """All pairs at one level of one dataset, over all epsilons."""

    summary: Summary
    place: int
    same: int
    close: int
    """Pairs too close to call: unclear here, by Student's t on the same instances, or equal in the paper."""
    reversals: Sequence[Reversal]

    @property
    def level(self) -> str:
        """The name of the level."""
        return self.summary.dataset.facts.levels[self.place]


def compare_orders(summary: Summary, epsilons: Sequence[str]) -> list[Order]:
    """Compare the orders level by level; empty if the paper has no figures on such data."""
    levels = range(len(summary.dataset.facts.levels))
    orders = [_compare_level(summary, place, epsilons) for place in levels]
    return [order for order in orders if order.same or order.close or order.reversals]


def explain_reversals(reversals: Sequence[Reversal]) -> Iterator[str]:
    """Explain every reversal; those with the same reason together."""
    reasons: dict[str, list[Reversal]] = {}
    for reversal in reversals:
        reasons.setdefault(_explain(reversal), []).append(reversal)
    for reason, those in reasons.items():
        levels: dict[str, list[str]] = {}
        for each in those:
            level = each.summary.dataset.facts.levels[each.place]
            levels.setdefault(f"{each.summary.dataset.title}, level {level}", []).append(each.tell())
        told = ". ".join(f"{where}: {'; '.join(texts)}" for where, texts in levels.items())
        yield f"{told}. *Why:* {reason}"


def _compare_level(summary: Summary, place: int, epsilons: Sequence[str]) -> Order:
    same = close = 0
    reversals = []
    for epsilon in epsilons:
        equals = [each for each in find_both(select(summary.results, epsilon)) if each.ours.is_fair]
        for pair in combinations(sorted(equals, key=lambda each: each.ours.l1[place].mean), 2):
            first, second = pair
            theirs = first.paper.l1[place] - second.paper.l1[place]
            if not is_clear(first.ours.l1[place], second.ours.l1[place]) or theirs == 0:
                close += 1
            elif theirs < 0:
                same += 1
            else:
                reversals.append(Reversal(summary, epsilon, place, first, second))
    return Order(summary, place, same, close, reversals)


def _explain(reversal: Reversal) -> str:
    relaxed = [each for each in (reversal.first, reversal.second) if not each.ours.variant.make().consistent]
    if reversal.summary.dataset.name == TAXI:
        return (
            "the paper's Taxi figures cannot be about the data that it describes (see the findings on its "
            "table), so its order there is that of other data."
        )
    if relaxed:
        symbol = relaxed[0].ours.variant.make().symbol
        figures = _list_root_errors(symbol, reversal.summary.dataset.published)
        return (
            f"the paper's {symbol} has errors that do not come from the noise: at the root they are "
            f"{several(figures)} thousand, hardly different from epsilon to epsilon. A relaxation that is "
            "solved accurately and rounded, as here, has no such errors, so the paper's figures at the other "
            "levels are not those of an accurate one either."
        )
    return "not explained."


def _list_root_errors(symbol: str, published: Published) -> list[str]:
    return [str(table[symbol].l1[0]) for table in published.values() if symbol in table]


# The upper bound on any error: counts that are not negative and add up to G are at most 2 G from the truth.

ROOT = 0


def claim_taxi_table() -> Claim:
    """Judge whether the Taxi half of the paper's table can be about the data that it describes."""
    bound = 2 * TAXIS
    keeps = {variant.make().symbol for variant in list_contenders() if variant.make().consistent}
    figures = [
        1000 * value
        for table in TAXI_TABLE.values()
        for symbol, line in table.items()
        if symbol in keeps
        for value in line.l1
    ]
    beyond = [value for value in figures if value > bound]
    at_ten = [
        symbol
        for symbol, line in TAXI_TABLE["0.1"].items()
        if symbol in keeps and round(line.l1[ROOT] / 10, 1) == round(bound / 1000, 1)
    ]
    return Claim(
        "Table, Taxi half",
        f"Its L1 errors, in units of ten thousand, are those of {TAXIS:,} groups.",
        Verdict.FAILS,
        f"That cannot be. Counts that are not negative and add up to G are at most 2 G = {bound:,} from the "
        f"truth at each level. Of the {len(figures)} figures of mechanisms that keep the sums, {len(beyond)} "
        f"are larger, up to {number(max(beyond) / bound)} times.",
        f"The errors of {' and '.join(at_ten)} at the root, at epsilon 0.1, are ten times 2 G to the "
        "digits given, as if the unit were a thousand and nothing of the data were left there; at the other "
        "levels that does not help. The paper's taxis were counted in some other way than it says, so its "
        "Taxi figures are shown for what they are, and nothing about their size is concluded from them.",
    )


UNKNOWN = "They were not both measured."
CLEAR_POINTS = 0.05
"""Shares of the error that differ by less are treated as equal."""


def claim_accuracy(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Iterator[Claim]:
    """Judge the observations of the paper's section, in its order."""
    yield claim_chain(summaries, epsilons)
    yield claim_exactness(summaries, epsilons)
    yield claim_decrease(summaries, epsilons)
    yield claim_larger_on_taxis(summaries, epsilons)
    yield claim_small_sizes(summaries, epsilons)
    yield claim_violations(summaries)


def claim_chain(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Judge the lead of the chain, and what it costs."""
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
    """Count the levels at which it has the least error of those that know only the total number of groups."""
    return sum(
        result.l1[place].mean <= min(each.l1[place].mean for each in table if not each.is_told_more)
        for place in range(len(result.l1))
    )


def claim_exactness(summaries: Sequence[Summary], epsilons: Sequence[str]) -> Claim:
    """Judge whether the exact mechanisms are more accurate than the relaxations."""
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
    """Judge whether less noise means less error."""
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
    """Judge whether more sizes mean more error."""
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
    """Judge whether the cumulative mechanisms concentrate errors on small sizes."""
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
    """Judge which mechanisms keep the sums."""
    claim = "The relaxations M_H^r and M_c^r violate the sums, the DP mechanisms and TopDown never do."
    results = [result for summary in summaries for result in summary.results]
    kept = [result for result in results if result.variant.make().consistent]
    broken = [result for result in results if result.variant.mechanism in (DirectQP.name, CumulativeQP.name)]
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
