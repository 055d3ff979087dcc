"""Findings about figures that both tables have: they agree or they do not."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.reproduction.findings import Both, Finding, divide, find_both, is_near
from tallytree.reproduction.results import Result, is_clear
from tallytree.reproduction.wording import at_epsilons, between, number, several


def compare_order(table: Sequence[Both]) -> Finding:
    """Pair by pair, by total L1 error, at one epsilon."""
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
    """Who has the least L1 error at each level."""
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
    """The last level's errors, nearly all of the total, as multiples of the paper's, at one epsilon."""
    where = f"Level {level}, epsilon {table[0].ours.epsilon}"
    whole = [one.ours.l1[-1].mean / one.paper.l1[-1] for one in table]
    yield Finding(all(map(is_near, whole)), f"{where}: our L1 errors are {between(whole)} times the paper's.")
    first = [one.ours.small_leaf.mean / one.paper.l1[-1] for one in table]
    yield Finding(
        all(map(is_near, first)),
        f"{where}: our L1 errors in sizes 1 to 7 alone are {between(first)} times the paper's in all sizes.",
    )


def compare_violations(results: Sequence[Result]) -> Iterator[Finding]:
    """Counts that do not add up."""
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
    """Whether relaxing Model M_H costs accuracy: the root's error beside that of the exact optimum."""
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
