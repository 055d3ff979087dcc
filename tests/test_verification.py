"""What is wrong is found, counted, and shown by an example."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import tallytree as tt
from tallytree.verification import check_budget, check_public_totals, count_inconsistencies, verify_counts

Ints = npt.NDArray[np.int64]

PATHS = [("US", "NY", "Kings"), ("US", "NY", "Erie"), ("US", "DC")]
H = tt.Hierarchy.from_paths(["nation", "state", "county"], PATHS)


def good() -> list[Ints]:
    counts = tt.GroupCounts(H, (1, 2), [[1, 2], [3, 4], [5, 6]])
    return [counts.array(level).copy() for level in range(3)]


def violations(counts: list[Ints], total: int = 21) -> dict[str, int]:
    return {check.name: check.violations for check in verify_counts(H, (1, 2), counts, total)}


def test_what_adds_up_passes_also_in_a_ragged_tree() -> None:
    assert violations(good()) == {"consistency": 0, "validity": 0, "faithfulness": 0}


def test_a_changed_leaf_is_inconsistent_and_its_level_unfaithful() -> None:
    counts = good()
    counts[2][1, 0] += 5
    assert violations(counts) == {"consistency": 1, "validity": 0, "faithfulness": 1}
    consistency, _, faithfulness = verify_counts(H, (1, 2), counts, 21)
    assert consistency.example == "'US > NY' has 4 groups of size 1, its subregions 9"
    assert faithfulness.example == "level 'county' has 26 groups, not 21"


def test_negative_counts_are_invalid_even_if_they_add_up() -> None:
    counts = good()
    counts[2][0] = [-1, 2]
    counts[2][1] = [5, 4]
    assert violations(counts) == {"consistency": 0, "validity": 1, "faithfulness": 0}
    assert verify_counts(H, (1, 2), counts, 21)[1].example == "'US > NY > Kings' has -1 groups of size 1"


def test_another_total_makes_every_level_unfaithful() -> None:
    assert violations(good(), total=20)["faithfulness"] == 3


def test_every_violation_is_counted() -> None:
    counts = good()
    counts[1] = counts[1] + 1  # NY and DC, both sizes: DC is a leaf, so its own sum is not in question
    assert violations(counts) == {"consistency": 4, "validity": 0, "faithfulness": 2}
    assert count_inconsistencies(H, counts) == [2, 2, 0]


@pytest.mark.parametrize("field", ["sensitivity", "loss", "scale"])
def test_a_plan_whose_noise_does_not_fit_is_found(field: str) -> None:
    plan = tt.mechanism("direct-dp").plan(H, sizes=(1, 2), epsilon="1")
    assert check_budget(plan, Fraction(1)).passed
    first = plan.levels[0]
    other = replace(first, **{field: getattr(first, field) / 2})
    wrong = replace(plan, levels=(other, *plan.levels[1:]))
    assert not check_budget(wrong, Fraction(1)).passed
    assert not check_budget(plan, Fraction(2)).passed


def test_a_region_that_misses_its_public_total_is_found() -> None:
    counts = good()
    plan = tt.mechanism("count-of-counts").plan(H, sizes=(1, 2), epsilon=1)
    measured = [np.cumsum(level, axis=1) for level in counts]
    assert check_public_totals(plan, measured, counts).passed
    counts[2][1, 0] += 5
    check = check_public_totals(plan, measured, counts)
    assert (check.violations, check.example) == (1, "'US > NY > Erie' has 12 groups, not 7")
