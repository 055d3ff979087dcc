"""What a release promises, in words that a reader without a background in privacy can follow."""

import math
from fractions import Fraction

from tallytree.privacy.budget import LARGE_EPSILON, show_exact, show_short
from tallytree.privacy.plan import Plan, describe_factor

ENFORCED = "enforced on the records of people"
ON_TRUST = "taken on trust"
"""What a manifest says of the bounds on a person if they are not enforced."""


def describe_protection(plan: Plan, *, has_frame: bool | None, enforced: bool) -> str:
    """Describe who is protected, from what, and how strongly.

    ``has_frame`` says where the list of groups is from: :attr:`tallytree.GroupCounts.has_frame`. Without
    ``enforced``, counts were given, and what they count is not known for sure.
    """
    m, z = plan.bounds.max_records, plan.bounds.max_quantity
    unit = plan.unit.name
    parts = ", ".join(f"{show_exact(level.loss)} at level {level.name!r}" for level in plan.levels)
    warning = warn_of_epsilon(plan.epsilon)
    return (
        f"{describe_guarantee(plan)} A person has at most {m} record{'s' if m > 1 else ''}, each of "
        f"quantity at most {z}. {unit.capitalize()} is spent as {parts}; each part covers all regions of its "
        f"level together. {describe_empty_groups(plan, has_frame, enforced)}"
        f"{f' {warning}' if warning else ''}"
    )


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
        "for any two datasets that differ by one person, the probabilities of any outcome differ at most by "
        f"the factor exp({epsilon})"
    )
    if plan.delta is None:
        return f"The released counts are epsilon-differentially private with epsilon = {epsilon}: {outcomes}."
    rho, delta = show_exact(plan.loss.rho), show_exact(plan.delta)
    return (
        f"The released counts are rho-zero-concentrated differentially private with rho = {rho}. That "
        f"implies (epsilon, delta)-differential privacy with epsilon = {epsilon} at delta = {delta}: "
        f"{outcomes}, plus {delta}."
    )


def describe_empty_groups(plan: Plan, has_frame: bool | None, enforced: bool) -> str:
    """Describe whether the guarantee covers a group that becomes empty."""
    low = plan.sizes[0]
    if has_frame and enforced:
        return "A frame lists the groups, so the guarantee also covers a person whose group becomes empty."
    if has_frame is False:
        return (
            "The groups are those that the records name, and their list is taken as public: the guarantee "
            "covers neighbours with the same list of groups; it does not hide whether a group exists."
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


def list_public_facts(plan: Plan, total: int) -> list[str]:
    """List what the guarantee assumes to be public."""
    regions = ", ".join(
        f"{plan.shape(index)[0]} at level {level.name!r}" for index, level in enumerate(plan.levels)
    )
    low, high = plan.sizes
    facts = [
        f"the regions: {regions}",
        f"the number of groups: {total}",
        f"the range of sizes: {low} to {high}; a larger group counts at {high}"
        + (f", a smaller one at {low}" if low else ""),
    ]
    if plan.public_totals is not None:
        facts.append(
            f"the number of groups of each region at level {plan.public_totals!r} and above, kept exactly"
        )
    return facts


# What the report says of a release.


def describe_release(plan: Plan, total: int) -> str:
    """Describe what was released, in a sentence or two."""
    low, high = plan.sizes
    regions = sum(plan.shape(index)[0] for index in range(len(plan.levels)))
    where = f"each of {regions:,} regions, on {len(plan.levels)} levels" if regions > 1 else "one region"
    return (
        f"This page shows how many groups of each size, from {low:,} to {high:,}, there are in {where}: "
        f"{total:,} groups in all. The counts are not exact. Noise was added to them before anybody saw "
        "them, so that they tell about regions rather than about any one person."
    )


def describe_safety(plan: Plan) -> list[str]:
    """Describe for whom the release is safe, from what, and within what limits."""
    epsilon = float(plan.epsilon)
    words = [
        "Every single person in the data is protected, against everybody, whatever they know already. These "
        "counts would have been nearly as likely without that person's records.",
        _describe_strength(plan, epsilon),
        "So the counts may be published, copied, combined and computed with as you like: nothing that is "
        "done to them later weakens the protection. What does weaken it is another release from the same "
        "data: the budgets of all releases add up.",
    ]
    if plan.delta is None:
        words.append(
            "The promise is to a person. For several people together, such as a whole group of four, epsilon "
            f"is multiplied by the number of people: 4 x {show_short(plan.epsilon)} for four."
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
        f"{factor} Someone who gives even odds that a person is in the data can be at most "
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
