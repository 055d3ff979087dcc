"""What is said about results, on results that are made up: the numbers choose the words."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.door import measure_with_seed
from tallytree.research.reproduction.details import (
    SharedNoise,
    explain_chain,
    find_kuo,
    find_mean_noise,
    measure_shared_noise,
    name_best,
    write_kuo,
)
from tallytree.research.reproduction.document import Finding, Table, find_both
from tallytree.research.reproduction.duels import (
    compare_leaders,
    compare_leaves,
    compare_order,
    compare_violations,
    find_duels,
    judge_emd,
    judge_emd_ratio,
    judge_l1,
    write_duels,
)
from tallytree.research.reproduction.paper_figures import (
    CENSUS_TABLE,
    CHAIN,
    KUO_EMD,
    KUO_EPSILON,
    TAXI_TABLE,
    find_figures,
    list_contenders,
)
from tallytree.research.reproduction.rendering import write_markdown
from tallytree.research.reproduction.run_results import (
    STUDENT,
    STUDENT_MANY,
    Result,
    Spread,
    is_clear,
    rank,
    spread,
)
from tallytree.research.reproduction.study_data import KUO
from tallytree.sizes import count_sizes
from tests.research.reproduction_support import (
    CUMULATIVE,
    DIRECT,
    JOINT,
    LEVELS,
    MATCHED,
    RELAXED,
    make_result,
    set_errors,
    summarise,
)

# The mechanisms


def test_the_registry_says_who_competes() -> None:
    contenders = list_contenders()
    assert len({variant.label for variant in contenders}) == len(contenders)
    assert {variant.mechanism for variant in contenders} == {kind.name for kind in MECHANISMS}
    assert all(variant in contenders for variant in CHAIN.values())


def test_the_paper_has_all_of_its_mechanisms_here() -> None:
    for published in (CENSUS_TABLE, TAXI_TABLE):
        for epsilon, table in published.items():
            found = [find_figures(variant, epsilon, published) for variant in list_contenders()]
            assert sorted(f.total for f in found if f) == sorted(f.total for f in table.values())
    assert find_figures(CHAIN["sound"], "1", CENSUS_TABLE) is None
    assert find_figures(CHAIN["published"], "1", CENSUS_TABLE) == CENSUS_TABLE["1"]["M_c^ch"]
    assert find_figures(CHAIN["published"], "1", {}) is None


# The words


def tell_order(*results: Result) -> tuple[bool | None, str]:
    finding = compare_order(find_both(results))
    return finding.agrees, finding.text


def test_the_order_is_compared_with_the_papers() -> None:
    agrees, text = tell_order(make_result(DIRECT, 200), make_result(CUMULATIVE, 100))
    assert agrees
    assert "1 stand as in the paper." in text
    agrees, text = tell_order(make_result(DIRECT, 100), make_result(CUMULATIVE, 200))
    assert not agrees
    assert "The other way round: `direct-dp` (100.0, in the paper 135.1) before `cumulative-dp`" in text
    agrees, text = tell_order(make_result(DIRECT, 100), make_result(CUMULATIVE, 100.01))
    assert agrees
    assert "Too close to tell: `direct-dp` and `cumulative-dp`." in text


def test_the_size_of_errors_is_compared_with_the_papers() -> None:
    whole, first = compare_leaves(find_both([make_result(DIRECT, 128.8 / 0.8)]), "county")
    assert whole.agrees
    assert first.agrees
    whole, _ = compare_leaves(find_both([make_result(DIRECT, 300)]), "county")
    assert whole == Finding(False, "Level county, epsilon 1: our L1 errors are 1.86 times the paper's.")


def test_a_lead_that_costs_privacy_says_so() -> None:
    results = [make_result(CHAIN["published"], 100), make_result(DIRECT, 200)]
    findings = list(compare_leaders([find_both(results)], LEVELS))
    assert [finding.agrees for finding in findings] == [True] * 3
    assert all("with a real epsilon of 3.0" in finding.text for finding in findings)  # (1 + 2 + 6) / 3
    (chain,) = explain_chain([*results, make_result(CHAIN["sound"], 5000)])
    assert "real epsilon of 3.0 where it states 1" in chain.text
    assert "50.00 times as large" in chain.text


def test_the_best_is_named_among_equals() -> None:
    told_more = make_result(MATCHED, 50)
    results = [make_result(CHAIN["published"], 100), told_more, make_result(DIRECT, 200)]
    best = [finding.text for finding in name_best([results], LEVELS)]
    assert len(best) == 1 + len(LEVELS)
    assert "the least total L1 error has `direct-dp` at epsilon 1 (200.0)." in best[0]
    assert all("`count-of-counts`, which is told that of every region, has" in text for text in best)
    assert all("chain" not in text for text in best)


def test_broken_promises_are_named() -> None:
    (finding,) = compare_violations([make_result(DIRECT, 100, violations=2)])
    assert finding.agrees is False
    assert "a bug" in finding.text
    fine, rounded = compare_violations([make_result(DIRECT, 100), make_result(RELAXED, 100, violations=1900)])
    assert fine.agrees
    assert rounded.agrees  # the paper has 1,989


def test_the_default_is_judged_against_the_papers_mechanism() -> None:
    theirs = set_errors(make_result(CUMULATIVE, 1), (100, 100, 100), (1500, 1600, 1700))
    good = set_errors(make_result(JOINT, 1), (100.9, 90, 90), (100, 100, 100))
    duels = find_duels([make_result(DIRECT, 1), theirs, good])
    near, below = judge_l1(duels, LEVELS)
    assert near.met
    assert near.measured == "1.009 times at the most, level nation, epsilon 1"
    assert below.met
    assert judge_emd_ratio(duels, LEVELS, 15).met
    assert [goal.met for goal in judge_emd(duels, LEVELS, "1", (101, 100, 99))] == [True, False, False]
    page = write_markdown(write_duels(duels, [near, below], LEVELS), "figures")
    assert "| 1 | nation | 100.90 ± 0.10 | 100.00 ± 0.10 | 1.009 |" in page
    assert "| 1 | total | 280.90 ± 0.10 | 300.00 ± 0.10 | 0.936 |" in page
    assert "Goals met: 2 of 2." in page


def test_misses_are_reported_as_misses() -> None:
    """One epsilon that misses is enough, however good the other is."""
    results = [
        set_errors(make_result(variant, 1), l1, emd, epsilon)
        for variant, l1, emd, epsilon in (
            (JOINT, (1, 1, 1), (1, 1, 1), "0.5"), (CUMULATIVE, (9, 9, 9), (99, 99, 99), "0.5"),
            (JOINT, (9.2, 9, 9), (1, 7, 1), "1"), (CUMULATIVE, (9, 9, 9.1), (99, 99, 99), "1"),
        )
    ]  # fmt: skip
    duels = find_duels(results)
    goals = [*judge_l1(duels, LEVELS), judge_emd_ratio(duels, LEVELS, 15)]
    assert not any(goal.met for goal in goals)
    assert goals[0].measured == "1.022 times at the most, level nation, epsilon 1"
    assert goals[2].measured == "14.14 times at the least, level state, epsilon 1"
    page = write_markdown(write_duels(duels, goals, LEVELS), "figures")
    assert page.count("| **no** |") == 3
    assert "Goals met: 0 of 3." in page


def test_only_equals_are_compared() -> None:
    dearer = replace(make_result(CUMULATIVE, 9), real_epsilon=Fraction(3))
    duels = find_duels([make_result(JOINT, 1), dearer])
    assert not duels
    goals = [*judge_l1(duels, LEVELS), *judge_emd(duels, LEVELS, "1", (1, 1, 1))]
    assert all((goal.measured, goal.met) == ("not measured", False) for goal in goals)
    assert "At least one of them was not measured." in write_markdown(write_duels(duels, goals, LEVELS), "")


def find_beside_kuo(*times: float) -> list[Finding]:
    emd = [ratio * figure for ratio, figure in zip(times, KUO_EMD, strict=True)]
    matched = set_errors(replace(make_result(MATCHED, 1), paper=None), (1, 1, 1), emd)
    summary = summarise(matched, name=KUO)
    shared = measure_shared_noise(summary.dataset.counts, KUO_EPSILON, 2)
    *_, table = write_kuo(summary, shared)
    assert isinstance(table, Table)
    assert table.rows[-1][1:3] == [f"{KUO_EMD[-1]:,.1f}", f"{emd[-1]:,.2f} ± 0.10"]
    return [finding for finding in find_kuo(summary, ["1"], shared) if "Kuo" in finding.text]


def test_the_numbers_choose_the_words_on_kuo() -> None:
    *levels, why = find_beside_kuo(1, 1.1, 0.9)
    assert [finding.agrees for finding in levels] == [True] * 3
    assert "within 15% at 0 of 3 levels; with independent noise, 3 are." in why.text  # these taxis are others
    *levels, why = find_beside_kuo(0.8, 0.95, 1.5)
    assert [finding.agrees for finding in levels] == [False, True, False]
    assert "is 8,438, 0.800 times the 10,547.0 that" in levels[0].text
    assert why.text.endswith("with independent noise, 1 are.")
    assert not list(find_kuo(summarise(name=KUO), ["1"], []))


def test_shared_noise_is_the_same_in_all_regions() -> None:
    counts = summarise(name=KUO).dataset.counts
    plan = MATCHED.make().plan(counts.hierarchy, sizes=counts.sizes, epsilon="1")
    noisy = measure_with_seed(plan, counts, noise=SharedNoise(3, count_sizes(counts.sizes)))
    draws = np.concatenate([a - b for a, b in zip(noisy.values, plan.answers(counts), strict=True)])
    assert (draws == draws[0]).all()
    assert draws[0].any()
    assert draws[0, -1] == 0  # the number of groups is public


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_an_order_is_clear_from_both_sides(ours: list[float], theirs: list[float]) -> None:
    a, b = spread(ours), spread(theirs)
    assert is_clear(a, b) == is_clear(b, a)
    assert not is_clear(a, a)
    assert not is_clear(spread(ours[:1]), b)  # of one run nothing is known


def test_the_table_of_student_is_scipys_rounded_up() -> None:
    """So that an order is never called clear too soon; from 11 runs on it is that of 11."""
    for runs, limit in enumerate([*STUDENT, STUDENT_MANY][1:], start=2):
        exact = float(stats.t.ppf(0.975, runs - 1))
        assert exact <= limit < exact + 0.01


def test_runs_are_compared_on_the_same_instances() -> None:
    """The first two runs of both are hard; the one that has no others must not be blamed for that."""
    many, few = spread([100.0, 102.0, 50.0, 52.0, 51.0]), spread([99.0, 101.0])
    assert few.mean > many.mean
    assert not is_clear(few, many)
    noisy = [100.0, 300.0, 200.0, 250.0]
    assert is_clear(spread(noisy), spread([value + 1 + value / 1e3 for value in noisy]))


def test_means_ranks_and_noise() -> None:
    assert spread([1, 2, 3]) == Spread(2.0, 1.0, 3)
    assert spread([5]) == Spread(5.0, 0.0, 1)
    assert spread([1, 2, 3, 4, 5]).error == pytest.approx(0.5**0.5)
    assert spread([5]).error == float("inf")
    best, _ = rank([make_result(DIRECT, 2), make_result(CUMULATIVE, 1)])
    assert best.variant == CUMULATIVE
    values = np.arange(-2000, 2001)
    weights = np.exp(-np.abs(values) / 6)
    assert find_mean_noise(6) == pytest.approx((np.abs(values) * weights).sum() / weights.sum())
