"""The order of the mechanisms at each level, beside the paper's: only where privacy is equal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tallytree.reproduction.datasets import TAXI
from tallytree.reproduction.findings import Both, find_both
from tallytree.reproduction.published import Published
from tallytree.reproduction.results import Summary, is_clear, select
from tallytree.reproduction.wording import number, several


@dataclass(frozen=True)
class Reversal:
    """Two mechanisms that stand the other way round here: ``first`` has the smaller error here."""

    summary: Summary
    epsilon: str
    place: int
    first: Both
    second: Both

    def tell(self) -> str:
        """With the numbers."""
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
    """Too close to tell: not clear here, by Student's t on the same instances, or equal in the paper."""
    reversals: Sequence[Reversal]

    @property
    def level(self) -> str:
        """Its name."""
        return self.summary.dataset.facts.levels[self.place]


def compare_orders(summary: Summary, epsilons: Sequence[str]) -> list[Order]:
    """Level by level; nothing if the paper has no figures on such data."""
    levels = range(len(summary.dataset.facts.levels))
    orders = [_compare_level(summary, place, epsilons) for place in levels]
    return [order for order in orders if order.same or order.close or order.reversals]


def explain_reversals(reversals: Sequence[Reversal]) -> Iterator[str]:
    """Every one of them, with its reason; those with the same reason together."""
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
