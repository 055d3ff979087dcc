"""What a release promises, in words that a reader without a background in privacy can follow."""

import math
from fractions import Fraction

from tallytree.privacy.budget import LARGE_EPSILON, show_exact
from tallytree.privacy.plan import Plan

ENFORCED = "enforced on the records of people"
ON_TRUST = "taken on trust"
"""What a manifest says of the bounds on a person."""


def describe_protection(plan: Plan, *, has_frame: bool | None, enforced: bool) -> str:
    """Who is protected, from what, and how strongly.

    ``has_frame`` tells where the list of groups is from: :attr:`tallytree.GroupCounts.has_frame`. Without
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
    """What whoever makes or reads a release must know of a large epsilon; nothing, if it is not large.

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
    """How strongly a person is protected."""
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
        f"{outcomes}, and an addition of {delta}."
    )


def describe_empty_groups(plan: Plan, has_frame: bool | None, enforced: bool) -> str:
    """Whether the guarantee covers a group that becomes empty."""
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
    """What the guarantee takes as known to everyone."""
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
