"""What a release promises, in words that a reader without a background in privacy can follow."""

import math
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction

from tallytree.errors import PrivacyError
from tallytree.privacy.budget import LARGE_EPSILON, show_exact, show_short
from tallytree.privacy.plan import Plan, describe_factor, find_epsilon
from tallytree.sizes import SizeClasses, Sizes, count_sizes, find_place, get_ends, name_size, show_sizes

ENFORCED = "enforced on the records of people"
ON_TRUST = "taken on trust"
"""What a manifest says of the bounds on a person if they are not enforced."""


def describe_protection(plan: Plan, *, has_frame: bool | None, enforced: bool) -> str:
    """Describe who is protected, from what, and how strongly.

    ``has_frame`` says where the list of groups is from: :attr:`tallytree.GroupCounts.has_frame`. Without
    ``enforced``, counts were given, and what they count is not known for sure.
    """
    unit = plan.unit.name
    parts = ", ".join(f"{show_exact(level.loss)} at level {level.name!r}" for level in plan.levels)
    warning = warn_of_epsilon(plan.epsilon)
    return (
        f"{describe_guarantee(plan)} {_describe_bounds(plan)}{unit.capitalize()} is spent as {parts}; each "
        f"part covers all regions of its level together. {describe_groups(plan, has_frame, enforced)}"
        f"{f' {warning}' if warning else ''}"
    )


def _describe_bounds(plan: Plan) -> str:
    if plan.protect == "group":
        return ""
    m, z = plan.bounds.max_records, plan.bounds.max_quantity
    return f"A person has at most {m} record{'s' if m > 1 else ''}, each of quantity at most {z}. "


DIFFERENCES = {
    ("person", "public"): "one person",
    ("person", "private"): "one person, with whom groups may appear or vanish",
    ("group", "public"): "the size of one group",
    ("group", "private"): "one whole group, of any size",
}
"""By what neighbours differ."""


def describe_neighbours(plan: Plan) -> str:
    """Return which datasets are neighbours."""
    return f"datasets that differ by {DIFFERENCES[plan.protect, plan.total]}"


def warn_of_epsilon(epsilon: Fraction) -> str:
    """Warn those who make or read a release of a large epsilon; empty if it is not large.

    >>> warn_of_epsilon(Fraction(9))
    ''
    """
    if epsilon < LARGE_EPSILON:
        return ""
    shown = show_exact(epsilon)
    return (
        f"WARNING: epsilon = {shown} is large, and protects people little. Somebody who thinks it as likely "
        "as not that a person is in the data may be all but certain after reading these counts: the odds may "
        f"rise from 1 to exp({shown}), and exp({LARGE_EPSILON}) is already "
        f"{math.floor(math.exp(LARGE_EPSILON)):,}."
    )


def describe_guarantee(plan: Plan) -> str:
    """Describe how strongly a person is protected."""
    epsilon = show_exact(plan.epsilon)
    outcomes = (
        f"for any two {describe_neighbours(plan)}, the probabilities of any outcome differ at most by the "
        f"factor exp({epsilon})"
    )
    if plan.delta is None:
        return f"The released counts are epsilon-differentially private with epsilon = {epsilon}: {outcomes}."
    rho, delta = show_exact(plan.loss.rho), show_exact(plan.delta)
    return (
        f"The released counts are rho-zero-concentrated differentially private with rho = {rho}. That "
        f"implies (epsilon, delta)-differential privacy with epsilon = {epsilon} at delta = {delta}: "
        f"{outcomes}, plus {delta}."
    )


def describe_groups(plan: Plan, has_frame: bool | None, enforced: bool) -> str:
    """Describe whether the guarantee covers a group that appears, vanishes or becomes empty."""
    if not plan.has_public_total:
        return _describe_private_groups(plan)
    if plan.protect == "group":
        return (
            "The list of groups is public: the guarantee covers of which size a group is; it does not hide "
            "whether a group exists."
        )
    low, _ = get_ends(plan.sizes)
    if has_frame and enforced:
        return "A frame lists the groups, so the guarantee also covers a person whose group becomes empty."
    if has_frame is False:
        which = "to which the records give a size above 0" if low else "that the records name"
        return (
            f"The groups are those {which}, and their list is taken as public: the guarantee covers "
            "neighbours with the same list of groups; it does not hide whether a group exists."
        )
    if has_frame or low == 0:
        why = "It was said that a frame lists the groups" if has_frame else "Sizes start at 0"
        return (
            f"{why}; that the counts include every empty group was taken on trust. If they do, the guarantee "
            "also covers a person whose group becomes empty. If not, it covers neighbours in which no group "
            "becomes empty, and does not hide whether a group exists."
        )
    return (
        f"Sizes start at {low} and the list of groups is public, so the guarantee covers neighbours in "
        f"which no group falls below size {low}; it does not hide whether such a group exists."
    )


def _describe_private_groups(plan: Plan) -> str:
    words = "Neither the list of groups nor their number is public"
    if plan.protect == "person":
        return f"{words}: the guarantee also covers groups that appear or vanish with a person."
    epsilon = show_exact(plan.epsilon)
    times = "2 x " if plan.levels[0].query == "sizes" else ""
    return (
        f"{words}: the guarantee covers whether a group exists, and everything about it. A group that "
        f"changes its size is one group less and one more, which is covered with epsilon = {times}{epsilon}."
    )


MOST_ROWS = 12


def list_group_epsilons(plan: Plan) -> list[tuple[str, Fraction]]:
    """List at which epsilon a release for persons protects whole groups, by their size.

    It tells the counts with and without one group of up to this size apart (if the total is public: with the
    group at one and at another such size).
    """
    found = []
    for size, loss in list_group_losses(plan):
        with suppress(PrivacyError):  # a rho beyond all meaning
            found.append((size, find_epsilon([loss], plan.delta)))
    return found


def list_group_losses(plan: Plan) -> list[tuple[str, Fraction]]:
    """List the same as losses, in the unit of the plan."""
    if plan.protect == "group":
        return []
    # A group of the least size has no smaller one to be of, if the list of groups is public.
    places = [place for place in _choose_places(plan.sizes) if place or not plan.has_public_total]
    return [(name_size(plan.sizes, place), plan.find_group_loss(place)) for place in places]


def _choose_places(sizes: Sizes) -> Iterable[int]:
    """All places if they are few, else those of round sizes and the last."""
    count, (low, high) = count_sizes(sizes), get_ends(sizes)
    if count <= MOST_ROWS:
        return range(count)
    round_sizes = [digit * 10**power for power in range(len(str(high))) for digit in (1, 2, 5)]
    return sorted({find_place(sizes, size) for size in (*round_sizes, high) if low <= size <= high})


def list_public_facts(plan: Plan, total: int) -> list[str]:
    """List what the guarantee assumes to be public."""
    regions = ", ".join(
        f"{plan.shape(index)[0]} at level {level.name!r}" for index, level in enumerate(plan.levels)
    )
    facts = [
        f"the regions: {regions}",
        *([f"the number of groups: {total}"] if plan.has_public_total else []),
        _describe_sizes(plan.sizes),
    ]
    if plan.public_totals is not None:
        facts.append(
            f"the number of groups of each region at level {plan.public_totals!r} and above, kept exactly"
        )
    return facts


# What the report says of a release.


def _describe_sizes(sizes: Sizes) -> str:
    low, high = get_ends(sizes)
    if isinstance(sizes, SizeClasses):
        smaller = f"; a group smaller than {low} counts in the first" if low > 1 else ""
        return f"the classes of sizes: {show_sizes(sizes)}{smaller}"
    smaller = f", a smaller one at {low}" if low else ""
    return f"the range of sizes: {low} to {high}; a larger group counts at {high}{smaller}"


def describe_release(plan: Plan, total: str) -> str:
    """Describe what was released, in a sentence or two; ``total`` with the digits that are known."""
    regions = sum(plan.shape(index)[0] for index in range(len(plan.levels)))
    where = f"each of {regions:,} regions, on {len(plan.levels)} levels" if regions > 1 else "one region"
    return (
        f"This page shows how many groups of each size, {_name_sizes(plan.sizes)}, there are in {where}: "
        f"{total} groups in all. The counts are not exact. Noise was added to them before anybody saw "
        f"them, so that they tell about regions rather than about any one {plan.protect}."
    )


def _name_sizes(sizes: Sizes) -> str:
    if isinstance(sizes, SizeClasses):
        return show_sizes(sizes)
    return f"from {sizes[0]:,} to {sizes[1]:,}"


WITHOUT = {
    ("person", "public"): "without that person's records",
    ("person", "private"): "without that person's records",
    ("group", "public"): "with that group at any other size",
    ("group", "private"): "without that group",
}
BET = {
    ("person", "public"): "a person is in the data",
    ("person", "private"): "a person is in the data",
    ("group", "public"): "a group is of one of two sizes",
    ("group", "private"): "a group is in the data",
}


def describe_safety(plan: Plan) -> list[str]:
    """Describe for whom the release is safe, from what, and within what limits."""
    epsilon = float(plan.epsilon)
    words = [
        f"Every single {plan.protect} in the data is protected, against everybody, whatever they know "
        f"already. These counts would have been nearly as likely {WITHOUT[plan.protect, plan.total]}.",
        _describe_strength(plan, epsilon),
        "So the counts may be published, copied, combined and computed with as you like: nothing that is "
        "done to them later weakens the protection. What does weaken it is another release from the same "
        "data: the budgets of all releases add up.",
    ]
    if plan.protect == "person":
        words.append(
            "The promise is to a person. For several people together it is weaker"
            f"{': for four of them, epsilon is multiplied by four' if plan.delta is None else ''}. Whole "
            "groups are protected as well, the less the larger they are."
        )
    return words


def describe_epsilon(plan: Plan) -> str:
    """Describe epsilon, for the caption below the number."""
    at = "" if plan.delta is None else f" at delta = {show_short(plan.delta)}"
    return f"the privacy budget{at}: less is safer"


def _describe_strength(plan: Plan, epsilon: float) -> str:
    shown = show_short(plan.epsilon)
    if epsilon >= LARGE_EPSILON:  # a factor or a probability would not say much
        return (
            f"Epsilon says how nearly. Here it is {shown}, so large that the guarantee, although it holds "
            "exactly, means little."
        )
    odds = math.exp(epsilon)
    factor = f"Epsilon, here {shown}, says how nearly: {describe_factor(plan)}."
    if plan.delta is not None:
        return factor
    return (
        f"{factor} Someone who gives even odds that {BET[plan.protect, plan.total]} can be at most "
        f"{math.ceil(100 * odds / (1 + odds))} % sure after seeing these counts, instead of 50 %."
    )


def describe_budget(plan: Plan) -> str:
    """Describe the levels' parts of the budget."""
    return (
        f"The budget is shared by the {len(plan.levels)} levels: a larger part buys less noise there. The "
        f"parts add up to the whole, {plan.unit.name} = "
        f"{show_short(plan.loss.count(plan.unit.name) or plan.epsilon)}."
    )


def describe_adjustment(mechanism: str) -> str:
    """Describe how measured counts became released ones."""
    return (
        f"After measuring, {mechanism} finds whole, non-negative counts that add up over all levels and are "
        "close to the measurements. This step does not use the data, and it usually removes much of the "
        "noise that this section is about."
    )
