"""What is wrong is found, counted, and shown by an example."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tallytree as tt
from tallytree.privacy.neighbours import Neighbours
from tallytree.privacy.plan import Plan
from tallytree.solvers.checks import (
    Check,
    Verification,
    check_budget,
    check_public_totals,
    count_inconsistencies,
    skip,
    verify_counts,
)

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


def test_the_first_violation_is_the_example() -> None:
    counts = good()
    counts[0][0, 1] += 1
    counts[2][1, 1] -= 5
    consistency, validity, faithfulness = verify_counts(H, (1, 2), counts, 21)
    assert (consistency.violations, validity.violations, faithfulness.violations) == (2, 1, 2)
    assert consistency.example == "'US' has 13 groups of size 2, its subregions 12"
    assert validity.example == "'US > NY > Erie' has -1 groups of size 2"
    assert faithfulness.example == "level 'nation' has 22 groups, not 21"
    counts[1][1] = [-7, -8]
    assert verify_counts(H, (1, 2), counts, 21)[1].example == "'US > DC' has -7 groups of size 1"


def test_a_level_is_unfaithful_by_what_its_own_leaves_and_those_above_have() -> None:
    counts = good()
    counts[1][1] += [1, 0]  # DC, a leaf of the level above the counties
    assert violations(counts)["faithfulness"] == 2


def test_inconsistencies_are_counted_by_level() -> None:
    counts = good()
    assert count_inconsistencies(H, counts) == [0, 0, 0]
    counts[2][0] += 1
    assert count_inconsistencies(H, counts) == [0, 2, 0]
    counts[0][0, 0] += 1
    assert count_inconsistencies(H, counts) == [1, 2, 0]


@pytest.mark.parametrize("field", ["sensitivity", "loss", "scale"])
@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize(
    "factor", [Fraction(1, 2), Fraction(999_999, 10**6), Fraction(2), Fraction(0), Fraction(-1)]
)
@pytest.mark.parametrize("level", [0, 2])
def test_a_plan_whose_noise_does_not_fit_is_found(
    field: str, unit: str, factor: Fraction, level: int
) -> None:
    method = tt.mechanism("direct-dp")
    if unit == "epsilon":
        plan = method.plan(H, sizes=(1, 2), epsilon="1")
    else:
        plan = method.plan(H, sizes=(1, 2), rho="1", delta="1e-9")
    assert check_budget(plan, plan.epsilon).passed
    levels = list(plan.levels)
    levels[level] = replace(levels[level], **{field: getattr(levels[level], field) * factor})
    check = check_budget(replace(plan, levels=tuple(levels)), plan.epsilon)
    assert check.violations == 1
    assert check.example == f"level {H.levels[level]!r} has the scale {levels[level].scale}"


@pytest.mark.parametrize("name", ["cumulative-joint", "cumulative-chain"])
@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("sizes", [(1, 3), (2, 2)], ids=str)
def test_a_plan_from_before_sensitivities_were_capped_passes_and_is_told_apart(
    name: str, unit: str, sizes: tuple[int, int]
) -> None:
    asked: dict[str, Any] = {"epsilon": "1"} if unit == "epsilon" else {"rho": "1", "delta": "1e-9"}
    plan = tt.mechanism(name).plan(H, sizes=sizes, bounds=tt.Bounds(max_records=2, max_quantity=7), **asked)
    reach = max(1, sizes[1] - sizes[0])

    def restate(uncapped: int | Fraction) -> Plan:
        """The plan with the noise for moves of that length."""
        levels = []
        for level in plan.levels:
            sensitivity = level.sensitivity / reach * uncapped
            scale = plan.unit.find_scale(sensitivity, level.loss)
            levels.append(replace(level, sensitivity=sensitivity, scale=scale))
        return replace(plan, levels=tuple(levels))

    assert restate(reach) == plan
    now, before = (check_budget(restate(moves), plan.epsilon) for moves in (reach, 7))
    assert (now.violations, before.violations) == (0, 0)
    assert "more noise than needed" not in now.statement
    assert "more noise than needed" in before.statement
    # Any other sensitivity is one that no version stated, a smaller one above all.
    for moves in (Fraction(reach, 2), 3, 6, 8, 14):
        assert check_budget(restate(moves), plan.epsilon).violations == len(H.levels)


def test_a_folder_from_before_sensitivities_were_capped_can_still_be_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tt.GroupCounts(H, (1, 3), [[1, 2, 0], [3, 4, 1], [5, 6, 0]], bounds=tt.Bounds(max_quantity=50))
    with monkeypatch.context() as earlier:
        capped = Neighbours.count_crossed
        earlier.setattr(
            Neighbours,
            "count_crossed",
            lambda self, sizes: self.bounds.max_quantity if self.protect == "person" else capped(self, sizes),
        )
        tt.release(counts, epsilon="1", mechanism="cumulative-joint").save(tmp_path / "earlier", replicates=0)
    release = tt.load(tmp_path / "earlier")
    assert [level.sensitivity for level in release.measurements.plan.levels] == [50] * 3
    verification = release.verify()
    assert verification
    assert [check.name for check in verification.checks if "more noise than needed" in check.statement] == [
        "budget"
    ]


def test_a_level_in_another_unit_than_its_plan_is_found() -> None:
    plan = tt.mechanism("direct-dp").plan(H, sizes=(1, 2), rho="1", delta="1e-9")
    levels = (replace(plan.levels[0], unit="epsilon"), *plan.levels[1:])
    assert check_budget(replace(plan, levels=levels), plan.epsilon).violations == 1


def test_a_plan_with_another_epsilon_than_stated_is_found() -> None:
    plan = tt.mechanism("direct-dp").plan(H, sizes=(1, 2), epsilon="1")
    check = check_budget(plan, Fraction(2))
    assert (check.violations, check.example) == (1, "the levels' parts add up to 1, not 2")


def test_one_failed_check_fails_the_verification() -> None:
    good, bad = Check("a", "b", 0), Check("c", "d", 1, "here")
    assert Verification((good, good))
    assert not Verification((good, bad))
    assert not Verification((bad, good)).passed
    assert Verification((good, bad)).describe() == "1 of 2 checks FAILED."
    assert Verification((good, bad)).to_dict() == {
        "passed": False,
        "complete": True,
        "checks": [
            {"name": "a", "statement": "b", "violations": 0, "example": "", "made": True, "passed": True},
            {
                "name": "c",
                "statement": "d",
                "violations": 1,
                "example": "here",
                "made": True,
                "passed": False,
            },
        ],
    }


def test_a_check_that_was_not_made_has_neither_passed_nor_failed() -> None:
    good, skipped = Check("a", "b", 0), skip("c", "it takes long")
    assert Verification((good,)).describe() == "All checks passed."
    verification = Verification((good, skipped, skipped))
    assert verification.passed
    assert not skipped.passed
    assert not skipped.failed
    assert verification.skipped == (skipped, skipped)
    assert verification.describe() == "No check failed; 2 were not made."
    found = {"name": "c", "statement": "it takes long", "violations": 0, "example": ""}
    assert Verification((skipped,)).to_dict() == {
        "passed": True,
        "complete": False,
        "checks": [{**found, "made": False, "passed": False}],
    }
    assert not Verification((skipped, Check("d", "e", 2)))


def test_a_region_that_misses_its_public_total_is_found() -> None:
    counts = good()
    plan = tt.mechanism("count-of-counts").plan(H, sizes=(1, 2), epsilon=1)
    measured = [np.cumsum(level, axis=1) for level in counts]
    assert check_public_totals(plan, measured, counts).passed
    counts[2][1, 0] += 5
    check = check_public_totals(plan, measured, counts)
    assert (check.violations, check.example) == (1, "'US > NY > Erie' has 12 groups, not 7")
    counts[1][0, 1] -= 1
    counts[2][0, 0] += 1
    check = check_public_totals(plan, measured, counts)
    assert (check.violations, check.example) == (3, "'US > NY' has 9 groups, not 10")


def test_only_the_levels_with_public_totals_are_held_to_them() -> None:
    counts = good()
    plan = tt.mechanism("cumulative-joint").plan(H, sizes=(1, 2), epsilon=1, public_totals="state")
    measured = [np.cumsum(level, axis=1) for level in counts]
    measured[2] += 1  # noise
    assert check_public_totals(plan, measured, counts).passed
    measured[1] += 1
    assert check_public_totals(plan, measured, counts).violations == 2
