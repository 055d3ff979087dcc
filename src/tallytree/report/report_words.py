"""What the page says in plain words, for readers without a background in privacy."""

from __future__ import annotations

import math

from tallytree.privacy.budget import LARGE_EPSILON, show_short
from tallytree.privacy.plan import Plan, describe_factor


def describe_release(plan: Plan, total: int) -> str:
    """What was released, in a sentence or two."""
    low, high = plan.sizes
    regions = sum(plan.shape(index)[0] for index in range(len(plan.levels)))
    where = f"each of {regions:,} regions, on {len(plan.levels)} levels" if regions > 1 else "one region"
    return (
        f"This page shows how many groups of each size, from {low:,} to {high:,}, there are in {where}: "
        f"{total:,} groups in all. The counts are not exact. Noise was added to them before anybody saw "
        "them, so that they tell about regions rather than about any one person."
    )


def describe_safety(plan: Plan) -> list[str]:
    """For whom the release is safe, from what, and where that ends."""
    epsilon = float(plan.epsilon)
    words = [
        "Every single person in the data is protected, against everybody, whatever they know already. These "
        "counts would have come out nearly as likely if that person's "
        "records had not been there.",
        _describe_strength(plan, epsilon),
        "So the counts may be published, copied, combined and computed with as you like: nothing that is "
        "done to them later weakens the protection. What does weaken it is another release from the same "
        "data: the budgets of all releases add up.",
    ]
    if plan.delta is None:
        words.append(
            "The promise is to a person. For several people together, such as a whole group of four, epsilon "
            f"counts as often as there are people: 4 x {show_short(plan.epsilon)} for four of them."
        )
    return words


def describe_epsilon(plan: Plan) -> str:
    """What stands below the number."""
    at = "" if plan.delta is None else f" at delta = {show_short(plan.delta)}"
    return f"the privacy budget{at}: less is safer"


def _describe_strength(plan: Plan, epsilon: float) -> str:
    shown = show_short(plan.epsilon)
    if epsilon >= LARGE_EPSILON:  # a factor or a chance would not say much
        return (
            f"How nearly is what epsilon says. Here it is {shown}, which is so large that the promise in "
            "itself says little; it is still exact, and holds."
        )
    odds = math.exp(epsilon)
    factor = f"How nearly is what epsilon says, here {shown}: {describe_factor(plan)}."
    if plan.delta is not None:
        return factor
    return (
        f"{factor} Somebody who holds it for an even bet that a person is in the data can be "
        f"{math.ceil(100 * odds / (1 + odds))} % sure at most after reading these counts, instead of 50 %."
    )


def describe_budget(plan: Plan) -> str:
    """What the levels' parts are."""
    return (
        f"The budget is shared by the {len(plan.levels)} levels: a larger part buys less noise there. The "
        f"parts add up to the whole, {plan.unit.name} = "
        f"{show_short(plan.loss.count(plan.unit.name) or plan.epsilon)}."
    )


def describe_adjustment(mechanism: str) -> str:
    """How measured counts became released ones."""
    return (
        f"After the measuring, the method {mechanism} looked for whole counts, none of them negative, that "
        "add up over all levels and are near to what was measured. That uses no data any more, and it "
        "usually removes much of the noise that this section is about."
    )
