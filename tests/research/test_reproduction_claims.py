"""The verdicts on the paper's claims, on results that are made up: every branch."""

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallytree.research.reproduction.accuracy_claims import (
    claim_chain,
    claim_decrease,
    claim_exactness,
    claim_larger_on_taxis,
    claim_small_sizes,
    claim_taxi_table,
    claim_violations,
    compare_orders,
    explain_reversals,
)
from tallytree.research.reproduction.document import Verdict, percent, seconds
from tallytree.research.reproduction.paper_figures import CENSUS_TABLE as CENSUS_FIGURES
from tallytree.research.reproduction.paper_figures import CHAIN, CHAIN_TABLES, TABLES, Variant
from tallytree.research.reproduction.paper_figures import TAXI_TABLE as TAXI_FIGURES
from tallytree.research.reproduction.run_results import Outcome, Summary
from tallytree.research.reproduction.runs import Failure, Job, Run
from tallytree.research.reproduction.runtime_claims import (
    Times,
    claim_epsilon,
    claim_runtimes,
    claim_scalability,
    claim_topdown,
    compare_times,
    judge_times,
    tell_times,
)
from tallytree.research.reproduction.study import Report
from tallytree.research.reproduction.study_data import KUO, TAXI
from tests.research.reproduction_support import (
    CUMULATIVE,
    CUMULATIVE_RELAXED,
    DIRECT,
    JOINT,
    MATCHED,
    RELAXED,
    SETTINGS,
    TOPDOWN,
    choose,
    give_up,
    make_result,
    set_errors,
    summarise,
)

HOLDS, PARTLY, FAILS, UNKNOWN = Verdict.HOLDS, Verdict.PARTLY, Verdict.FAILS, Verdict.UNKNOWN
EPSILONS = ("0.1", "0.5", "1")


# The paper's figures


def test_published_figures_are_the_papers() -> None:
    assert CENSUS_FIGURES["0.1"]["M_H^r"].l1 == (40.3, 54.3, 802.1)
    assert CENSUS_FIGURES["1"]["M_c^ch"].l1 == (0.0, 1.7, 86.9)
    assert CENSUS_FIGURES["0.5"]["M_c^r"].violations == 1718
    assert TAXI_FIGURES["0.1"]["M_H^dp"].l1 == (266, 1219, 9157)  # 26.6, 121.9, 915.7 ten thousands
    assert TAXI_FIGURES["1"]["TopDown"].l1 == (26, 103, 1384)
    assert TAXI_FIGURES["1"]["M_c^r"].violations == 19706


PAPER = Path(__file__).parents[3] / "shared" / "paper"
SYMBOLS = {
    r"$\cM_H^r$": "M_H^r", r"$\cM_H^{\textsl{dp}}$": "M_H^dp", r"$\cM_c^r$": "M_c^r",
    r"$\cM_c^{\textsl{dp}}$": "M_c^dp", r"$\cM_c^{\textsl{ch}}$": "M_c^ch", "TopDown": "TopDown",
}  # fmt: skip


def read_paper_table(text: str) -> dict[str, dict[str, tuple[list[float], list[float]]]]:
    """The Taxi and the Census half of each line of the paper's table, by epsilon and symbol."""
    table: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    block = text[text.index("L_1$ Errors $(") :]
    block = re.sub(r"\\bb\{([0-9.]+)\}", r"\1", block[: block.index(r"\bottomrule")])
    for part in re.split(r"\\multirow\{6\}\{\*\}\{\\textbf\{", block)[1:]:
        epsilon, lines = part.split("}}", 1)
        for line in lines.split(r"\\"):
            cells = [cell.strip() for cell in line.split("&")]
            if len(cells) == 10:
                numbers = [float(cell.replace(r"\cline{1-10}", "")) for cell in cells[2:]]
                table.setdefault(str(float(epsilon)).removesuffix(".0"), {})[SYMBOLS[cells[1]]] = (
                    numbers[:4],
                    numbers[4:],
                )
    return table


@pytest.mark.skipif(not PAPER.is_dir(), reason="the paper is not beside the project")
def test_every_published_figure_is_the_papers() -> None:
    (file,) = PAPER.glob("*.txt")
    check_against_paper(file.read_text(encoding="utf-8"))


def check_against_paper(text: str) -> None:
    table = read_paper_table(text)
    assert set(table) == {"0.1", "0.5", "1"}
    for epsilon, lines in table.items():
        assert len(lines) == 6
        for symbol, (taxi, census) in lines.items():
            ours = CENSUS_FIGURES[epsilon][symbol]
            assert [*ours.l1, ours.violations] == census
            ours = TAXI_FIGURES[epsilon][symbol]
            assert [*(value / 10 for value in ours.l1), ours.violations] == pytest.approx(taxi)


def test_the_taxi_table_exceeds_what_is_possible() -> None:
    claim = claim_taxi_table()
    assert claim.verdict == FAILS
    assert "2 G = 26,564" in claim.evidence
    assert "32 are larger, up to 344.7 times" in claim.evidence
    assert "M_H^dp and TopDown at the root" in claim.why


# Accuracy


def test_the_chains_lead_comes_with_its_real_epsilon() -> None:
    chain, sound = make_result(CHAIN["published"], 100), make_result(CHAIN["sound"], 5000)
    claim = claim_chain([summarise(chain, sound, make_result(DIRECT, 200))], ["1"])
    assert claim.verdict == FAILS
    assert "least L1 error at 3 of 3" in claim.evidence
    assert "real epsilon of 3.0 on Census, 3 times what it states" in claim.evidence  # (1 + 2 + 6) / 3
    assert "50.00 times on Census as large, and it has the least at 0 of 3" in claim.evidence
    assert "it leads at 0" in claim.short


def test_a_sound_chain_that_leads_would_be_believed() -> None:
    chain, sound = make_result(CHAIN["published"], 100), make_result(CHAIN["sound"], 110)
    told_more = make_result(MATCHED, 1)
    rivals = [told_more, make_result(DIRECT, 200)]  # with other privacy than it, and with the same
    assert claim_chain([summarise(chain, sound, *rivals)], ["1"]).verdict == HOLDS
    assert claim_chain([summarise(chain, sound, make_result(DIRECT, 90))], ["1"]).verdict == FAILS
    assert claim_chain([summarise(sound)], ["1"]).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("exact", "relaxed", "verdict"),
    [(100.0, 200.0, HOLDS), (200.0, 100.0, FAILS), (100.0, 100.01, FAILS)],
)
def test_exact_mechanisms_beside_relaxations(exact: float, relaxed: float, verdict: Verdict) -> None:
    summary = summarise(make_result(DIRECT, exact), make_result(RELAXED, relaxed))
    claim = claim_exactness([summary], ["1"])
    assert claim.verdict == verdict
    assert bool(claim.why) == (verdict != HOLDS)
    both = summarise(*summary.results, make_result(CUMULATIVE, 100), make_result(CUMULATIVE_RELAXED, 300))
    assert claim_exactness([both], ["1"]).verdict == (HOLDS if verdict == HOLDS else PARTLY)


def test_errors_that_do_not_decrease_are_named() -> None:
    falling = [make_result(DIRECT, total, epsilon=eps) for total, eps in ((300, "0.1"), (100, "1"))]
    claim = claim_decrease([summarise(*falling)], EPSILONS)
    assert claim.verdict == HOLDS
    assert "factor of 3.00" in claim.evidence
    rising = [make_result(JOINT, total, epsilon=eps) for total, eps in ((50, "0.1"), (60, "1"))]
    claim = claim_decrease([summarise(*falling, *rising)], EPSILONS)
    assert claim.verdict == PARTLY
    assert "Not so: `cumulative-joint` on Census." in claim.evidence
    assert claim_decrease([summarise(falling[0])], EPSILONS).verdict == UNKNOWN


@pytest.mark.parametrize(("taxi", "verdict"), [((300, 300), HOLDS), ((300, 30), PARTLY), ((30, 30), FAILS)])
def test_where_errors_are_larger(taxi: tuple[float, float], verdict: Verdict) -> None:
    census = summarise(make_result(DIRECT, 100), make_result(TOPDOWN, 100), make_result(MATCHED, 1))
    other = summarise(make_result(DIRECT, taxi[0]), make_result(TOPDOWN, taxi[1]), name=TAXI)
    claim = claim_larger_on_taxis([census, other], ["1"])
    assert claim.verdict == verdict
    assert claim_larger_on_taxis([census], ["1"]).verdict == UNKNOWN
    assert claim_larger_on_taxis([other], ["1"]).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("shares", "verdict"), [((0.9, 0.5), HOLDS), ((0.59, 0.57), FAILS), ((0.5, 0.9), FAILS)]
)
def test_where_errors_concentrate(shares: tuple[float, float], verdict: Verdict) -> None:
    summary = summarise(
        make_result(CUMULATIVE, 100, small=shares[0]),
        make_result(DIRECT, 100, small=shares[1]),
        make_result(CUMULATIVE_RELAXED, 100, small=0.25),
    )
    claim = claim_small_sizes([summary], ["1"])
    assert claim.verdict == verdict
    assert f"{shares[0]:.0%}".replace("%", " %") in claim.evidence
    assert "of `cumulative-qp`, 25 %" in claim.evidence
    assert f"{100 * (shares[0] - shares[1]):+.0f}" in claim.short
    clear = summarise(make_result(CUMULATIVE, 9, small=0.9), make_result(DIRECT, 9, small=0.1), name=KUO)
    mixed = claim_small_sizes([summary, clear], ["1"])
    assert mixed.verdict == (HOLDS if verdict == HOLDS else PARTLY)
    assert claim_small_sizes([summarise(make_result(DIRECT, 1))], ["1"]).verdict == UNKNOWN


def test_who_keeps_the_sums() -> None:
    fine, broken = make_result(DIRECT, 100), make_result(RELAXED, 100, violations=815)
    claim = claim_violations([summarise(fine, broken)])
    assert claim.verdict == HOLDS
    assert "break 815.0 sums" in claim.evidence
    bug = claim_violations([summarise(make_result(DIRECT, 100, violations=1), broken)])
    assert bug.verdict == FAILS
    assert "`direct-dp` break some: this is a bug" in bug.evidence
    assert claim_violations([summarise(fine, make_result(RELAXED, 100))]).verdict == FAILS
    assert claim_violations([summarise(fine)]).verdict == UNKNOWN


# The order at each level


def test_the_order_is_compared_at_each_level_where_privacy_is_equal() -> None:
    """In the paper: M_c^dp 0.1, 3.2 and 91.0; M_H^dp 1.2, 5.1 and 128.8; TopDown 0.5, 4.6 and 127.2."""
    results = [
        set_errors(make_result(CUMULATIVE, 1), (1, 30, 500), (1, 1, 1)),
        set_errors(make_result(DIRECT, 1), (9, 10, 500.01), (1, 1, 1)),
        make_result(CHAIN["published"], 0.001),
        make_result(MATCHED, 0.001),
        make_result(JOINT, 0.001),
    ]
    root, middle, leaf = compare_orders(summarise(*results), ["1"])
    assert (root.level, root.same, root.close, len(root.reversals)) == ("nation", 1, 0, 0)
    assert (middle.same, middle.close, len(middle.reversals)) == (0, 0, 1)
    assert (leaf.same, leaf.close, len(leaf.reversals)) == (0, 1, 0)
    (text,) = explain_reversals(middle.reversals)
    assert (
        "`direct-dp` before `cumulative-dp` at epsilon 1 (10.00 and 30.00, in the paper 5.10 and 3.20)"
        in text
    )
    assert text.endswith("*Why:* not explained.")
    assert not compare_orders(summarise(make_result(DIRECT, 1), name=KUO), ["1"])


def test_reversals_have_their_reasons() -> None:
    good = set_errors(make_result(RELAXED, 1), (1, 1, 1), (1, 1, 1))
    bad = set_errors(make_result(DIRECT, 1), (9, 9, 9), (1, 1, 1))
    root, *_ = compare_orders(summarise(good, bad), ["1"])
    (text,) = explain_reversals(root.reversals)
    assert (
        "M_H^r has errors that do not come from the noise: at the root they are 40.3, 39.4 and 40.7" in text
    )
    one = make_result(DIRECT, 10, figures=TAXI_FIGURES)
    other = make_result(TOPDOWN, 90, figures=TAXI_FIGURES)
    *_, leaf = compare_orders(summarise(one, other, name=TAXI), ["1"])
    (text,) = explain_reversals(leaf.reversals)
    assert "cannot be about the data" in text


@given(st.permutations([1.0, 2.0, 3.0, 4.0]), st.booleans())
def test_every_pair_is_counted_once(totals: Sequence[float], noisy: bool) -> None:
    variants = (DIRECT, RELAXED, CUMULATIVE, TOPDOWN)
    results = [
        make_result(variant, total, deviation=1e6 if noisy else 1e-6)
        for variant, total in zip(variants, totals, strict=True)
    ]
    for order in compare_orders(summarise(*results), ["1"]):
        assert order.same + order.close + len(order.reversals) == 6
        assert not noisy or order.close == 6


# Times


def make_report(*summaries: Summary, synthetic: Sequence[Outcome] = ()) -> Report:
    return Report(
        day=date(2010, 4, 1), machine={}, command="a command", quick=True, part="all", settings=SETTINGS,
        summaries=summaries, synthetic=synthetic, outcomes=synthetic,
    )  # fmt: skip


def make_outcome(
    variant: Variant, sizes: int, took: float | None, *, epsilon: str = "1", timed_out: bool = True
) -> Outcome:
    """None: it failed."""
    job = Job(variant, epsilon, 1, sizes)
    result: Run | Failure
    if took is None:
        result = Failure("no answer within 10 s", timed_out=True) if timed_out else Failure("Too large.")
    else:
        result = Run(job, Fraction(1), Fraction(6), (1,), (1,), (1.0,), 0, took)
    return Outcome(job, result, 10.0, "2010-04-01", 0.5)


@pytest.mark.parametrize(
    ("values", "verdict"), [((2, 3), HOLDS), ((2, 1), PARTLY), ((0.5, 1.05), FAILS), ((), UNKNOWN)]
)
def test_times_are_judged(values: Sequence[float], verdict: Verdict) -> None:
    times = [Times("Census", str(place), value, is_bound=False) for place, value in enumerate(values)]
    assert judge_times(times) == verdict


def test_a_time_limit_is_a_bound() -> None:
    fast = make_result(DIRECT, 1, seconds=0.5)
    times = compare_times([summarise(fast, missing=[give_up(RELAXED)])], DIRECT.label, RELAXED.label)
    assert tell_times(times) == "more than 120 on Census"
    refused = summarise(fast, missing=[give_up(RELAXED, timed_out=False)])
    assert not compare_times([refused], DIRECT.label, RELAXED.label)


def test_topdown_may_be_faster() -> None:
    slow = [make_result(variant, 1, seconds=2) for variant in (DIRECT, CUMULATIVE, CHAIN["published"])]
    synthetic = [make_outcome(TABLES, 3, 0.3), make_outcome(TOPDOWN, 3, 0.001)]
    report = make_report(summarise(*slow, make_result(TOPDOWN, 1, seconds=1)), synthetic=synthetic)
    claim = claim_topdown(report)
    assert claim.verdict == FAILS
    assert claim.evidence.count("0.50 on Census") == 3
    assert "takes 300 ms on the synthetic data at N = 3, where `topdown` takes 1.0 ms" in claim.evidence
    assert "does not hold" in claim.short
    fast = make_report(summarise(*slow, make_result(TOPDOWN, 1, seconds=9)))
    assert claim_topdown(fast).verdict == HOLDS
    assert claim_topdown(make_report()).verdict == UNKNOWN


def test_all_runtime_claims_are_judged() -> None:
    times = {
        DIRECT: 1,
        RELAXED: 9,
        CUMULATIVE: 2,
        CUMULATIVE_RELAXED: 99,
        CHAIN["published"]: 0.5,
        TOPDOWN: 3,
    }
    results = [make_result(variant, 1, seconds=value) for variant, value in times.items()]
    verdicts = [claim.verdict for claim in claim_runtimes(make_report(summarise(*results)))]
    assert verdicts == [HOLDS, HOLDS, HOLDS, HOLDS, UNKNOWN, FAILS, HOLDS]
    assert {claim.verdict for claim in claim_runtimes(make_report())} == {UNKNOWN}


@pytest.mark.parametrize(
    ("tables", "ours", "verdict"),
    [((5.0, 0.05), 1.0, PARTLY), ((5.0, 0.05), 3.0, HOLDS), ((0.05, 0.05), 1.0, FAILS)],
)
def test_time_against_epsilon(tables: tuple[float, float], ours: float, verdict: Verdict) -> None:
    synthetic = [
        make_outcome(variant, 2, took, epsilon=epsilon)
        for variant in (TABLES, CHAIN_TABLES)
        for took, epsilon in zip(tables, ("0.1", "1"), strict=True)
    ]
    results = [
        make_result(variant, 1, epsilon=epsilon, seconds=took)
        for variant in (DIRECT, CUMULATIVE)
        for epsilon, took in (("0.1", ours), ("1", 1.0))
    ]
    claim = claim_epsilon(make_report(summarise(*results), synthetic=synthetic))
    assert claim.verdict == verdict
    assert ("With the tables it is so" in claim.evidence) == (verdict != FAILS)
    assert claim_epsilon(make_report()).verdict == UNKNOWN


def test_scalability_is_told_by_how_each_ends() -> None:
    qip, cumulative, cp = Variant("direct-qip"), Variant("cumulative-qip"), Variant("direct-cp")
    synthetic = [
        make_outcome(DIRECT, 2, 0.001), make_outcome(DIRECT, 3, 0.001),
        make_outcome(qip, 2, 1.0), make_outcome(qip, 3, 2.0),
        make_outcome(cumulative, 2, 1.0), make_outcome(cumulative, 3, None),
        make_outcome(cp, 2, None, timed_out=False),
    ]  # fmt: skip
    claim = claim_scalability(make_report(synthetic=synthetic))
    assert claim.verdict == HOLDS
    assert "`direct-qip`: 2.0 s at N = 3, 2,000 times as long" in claim.evidence
    assert "no answer within 10 s at N = 3, so more than 10,000 times as long" in claim.evidence
    assert "`direct-cp`: cannot do N = 2 (Too large)" in claim.evidence
    fast = [make_outcome(DIRECT, 2, 0.001), make_outcome(qip, 2, 0.001)]
    assert claim_scalability(make_report(synthetic=fast)).verdict == FAILS
    assert claim_scalability(make_report()).verdict == UNKNOWN


@given(st.floats(1e-6, 1e5))
def test_seconds_and_shares_are_short(value: float) -> None:
    assert re.fullmatch(r"[0-9.]+ m?s", seconds(value))
    assert re.fullmatch(r"[0-9.]+ %", percent(value / 1e5))


def test_settings_can_wait() -> None:
    assert choose(instances=4).wait(7).small_seconds == 7
