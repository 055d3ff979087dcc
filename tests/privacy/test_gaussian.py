"""Discrete Gaussian noise and what it is worth: sensitivities, conversion, distribution, releases, ledger."""

import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import tallytree as tt
from tallytree.errors import LedgerError, PrivacyError
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.budget import RHO, Budget, Loss, add_losses, show_exact
from tallytree.privacy.digits import DigitNoise
from tallytree.privacy.door import measure, measure_with_seed
from tallytree.privacy.neighbours import Bounds, enumerate_additions
from tallytree.privacy.noise import GaussianNoise, Noise, SeededGaussianNoise, SeededNoise
from tallytree.privacy.plan import Plan, make_plan
from tallytree.privacy.queries import QUERIES
from tallytree.privacy.zcdp import LEAST_EPSILON, convert_rho, find_rho
from tests.bad_input_support import Bench, Case
from tests.commands import Run
from tests.ledger.ledger_support import read_rows
from tests.privacy.noise_statistics import REJECT, check_levels
from tests.privacy.test_privacy import small_counts

Ints = npt.NDArray[np.int64]

DELTA = Fraction(1, 10**9)
H = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY"), ("US", "WA")])
COUNTS = tt.GroupCounts(H, (1, 4), [[50, 20, 9, 3], [70, 10, 0, 1], [5, 5, 5, 5]])


# Sensitivities.


def squared_distances(plan: Plan, one: tt.GroupCounts, other: tt.GroupCounts) -> list[int]:
    pairs = zip(plan.answers(one), plan.answers(other), strict=True)
    return [int(((a - b) ** 2).sum()) for a, b in pairs]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_neighbour_is_further_away_in_l2_than_the_sensitivity(query: str, m: int, z: int) -> None:
    bounds = Bounds(max_records=m, max_quantity=z)
    rng = np.random.default_rng(m + 10 * z)
    hierarchy = tt.Hierarchy.from_paths(["a", "b"], [("r", "x"), ("r", "y")])
    leaf = rng.integers(0, 2, (2, 4))
    leaf[0, 0] = m  # somewhere to move m groups alike
    counts = tt.GroupCounts(hierarchy, (1, 4), leaf, bounds=bounds)
    plan = make_plan(
        QUERIES[query], hierarchy, Budget(rho="1/2", delta=DELTA), sizes=counts.sizes, bounds=bounds
    )
    neighbours = list(enumerate_additions(counts))
    found = [squared_distances(plan, counts, other) for other in neighbours]
    # As far as the sensitivity, no further, and no larger than needed.
    assert [max(level) for level in zip(*found, strict=True)] == [level.sensitivity for level in plan.levels]
    losses = [
        sum(d / (2 * level.scale**2) for d, level in zip(distances, plan.levels, strict=True))
        for distances in found
    ]
    assert Fraction(999, 1000) * plan.loss.rho < max(losses) <= plan.loss.rho == Fraction(1, 2)


def test_the_l1_sensitivity_would_not_do() -> None:
    """A negative control: with three records, twice the records is too small a square."""
    bounds = Bounds(max_records=3)
    counts = small_counts(0, bounds, 1)
    plan = make_plan(QUERIES["sizes"], counts.hierarchy, Budget(epsilon=1), sizes=counts.sizes, bounds=bounds)
    furthest = max(squared_distances(plan, counts, other)[0] for other in enumerate_additions(counts))
    assert furthest > plan.levels[0].sensitivity


@given(st.integers(1, 10**6), st.fractions(min_value=Fraction(1, 10**9), max_value=10**4))
@example(2, Fraction(1))  # sigma is 1, without rounding
def test_sigma_is_the_least_of_its_grid_that_keeps_rho(sensitivity: int, rho: Fraction) -> None:
    sigma = RHO.find_scale(Fraction(sensitivity), rho)
    assert RHO.find_loss(Fraction(sensitivity), sigma) <= rho
    assert (sigma * 10**6).denominator == 1  # six places, which people can read
    less = sigma - Fraction(1, 10**6)
    assert less == 0 or RHO.find_loss(Fraction(sensitivity), less) > rho


# What a rho is worth.


def bound_epsilon(rho: Fraction, delta: Fraction) -> Decimal:
    """Canonne, Kamath and Steinke (2020), Corollary 13, at the best order that a search finds: 40 digits."""

    def bound(order: Decimal) -> Decimal:
        r = Decimal(rho.numerator) / rho.denominator
        d = Decimal(delta.numerator) / delta.denominator
        return r * order + (-d.ln() + (order - 1) * (1 - 1 / order).ln() - order.ln()) / (order - 1)

    with localcontext(prec=40):
        low, high = Decimal("1e-4").ln(), Decimal("1e9").ln()
        for _ in range(200):  # the bound falls and then rises with the logarithm of order - 1
            third = (high - low) / 3
            if bound(1 + (low + third).exp()) < bound(1 + (high - third).exp()):
                high -= third
            else:
                low += third
        return bound(1 + low.exp())


@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "1e-3", "0.2"])
@pytest.mark.parametrize("rho", ["1e-8", "0.0001", "1/77", "0.1", "1", "2.56", "40"])
def test_the_conversion_is_the_published_bound_rounded_up(rho: str, delta: str) -> None:
    epsilon = convert_rho(Fraction(rho), Fraction(delta))
    exact = bound_epsilon(Fraction(rho), Fraction(delta))
    if exact <= 0:
        assert epsilon == LEAST_EPSILON
        return
    relative = (Decimal(epsilon.numerator) / epsilon.denominator) / exact - 1
    assert 0 <= relative < Decimal("2e-6")


@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
@pytest.mark.parametrize("sigma", [1, 3, 10])
def test_gaussian_noise_really_loses_nearly_that_much(sigma: int, delta: str) -> None:
    """The exact delta of discrete Gaussian noise at the stated epsilon is below the stated one, not far."""
    rho = Fraction(1, 2 * sigma**2)
    k = np.arange(-60 * sigma, 60 * sigma + 1)
    log = -(k**2) / (2 * sigma**2)
    log -= np.log(np.exp(log).sum())
    shifted = -((k - 1) ** 2) / (2 * sigma**2) - np.log(np.exp(-(k**2) / (2 * sigma**2)).sum())

    def exact_delta(epsilon: float) -> float:
        return float(np.maximum(0, np.exp(log) - np.exp(epsilon + shifted)).sum())

    epsilon = float(convert_rho(rho, Fraction(delta)))
    assert exact_delta(epsilon) <= float(delta)
    assert exact_delta(0.6 * epsilon) > float(delta)  # a control: much less epsilon would be false


@settings(max_examples=25, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000),
    delta=st.sampled_from([Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100)]),
)
def test_the_rho_found_is_the_largest(epsilon: Fraction, delta: Fraction) -> None:
    rho = find_rho(epsilon, delta)
    assert convert_rho(rho, delta) <= epsilon
    assert convert_rho(rho * Fraction(100_001, 100_000), delta) > epsilon


def test_a_pure_release_has_a_rho_as_well() -> None:
    assert add_losses("epsilon", [Fraction(1, 2), Fraction(1)]) == Loss(Fraction(5, 8), Fraction(3, 2))
    assert add_losses("rho", [Fraction(1, 2), Fraction(1)]) == Loss(Fraction(3, 2), None)
    assert Loss.of("0.2") == Loss(Fraction(1, 50), Fraction(1, 5))
    # No better than the exact Renyi divergence of two-sided geometric noise, at any order.
    ratio = math.exp(-0.5)
    k = np.arange(-20, 21)
    here, there = ratio ** np.abs(k), ratio ** np.abs(k - 1)
    for order in (1.01, 1.5, 2, 5, 50):
        total = (here / here.sum()) ** order * (there / here.sum()) ** (1 - order)
        assert math.log(total.sum()) / (order - 1) <= 0.5**2 / 2 * order


# The distribution.


def gaussian_p_value(draws: Ints, sigma: float) -> float:
    """Chi-square against the discrete Gaussian, in bins that expect at least 50 draws."""
    k = np.arange(-math.ceil(12 * sigma) - 2, math.ceil(12 * sigma) + 3)
    share = np.exp(-(k**2) / (2 * sigma**2))
    expected = share / share.sum() * len(draws)
    found = np.bincount(np.clip(draws, k[0], k[-1]) - k[0], minlength=len(k))
    _, place = np.unique(np.minimum(np.cumsum(expected) // 50, len(draws) // 50 - 1), return_inverse=True)
    sums = np.bincount(place, weights=expected)
    return float(stats.chisquare(np.bincount(place, weights=found), sums * len(draws) / sums.sum()).pvalue)


SIGMAS = [Fraction(3, 10), Fraction(1), Fraction(7, 2), Fraction(50)]


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
@pytest.mark.parametrize("noise", [GaussianNoise(), SeededGaussianNoise(3)], ids=["opendp", "seeded"])
def test_the_distribution_is_the_discrete_gaussian(noise: Noise, sigma: Fraction) -> None:
    draws = noise.draw(sigma, 60_000, lambda done: None)
    assert gaussian_p_value(draws, float(sigma)) > REJECT
    for wrong in (0.92, 1.08):  # negative controls
        assert gaussian_p_value(draws, float(sigma) * wrong) < REJECT


def test_geometric_noise_is_not_gaussian() -> None:
    draws = SeededNoise(1).draw(Fraction(5), 60_000, lambda done: None)
    assert gaussian_p_value(draws, float(draws.std())) < REJECT


def test_every_level_gets_its_own_sigma() -> None:
    h = tt.Hierarchy.from_paths(["a", "b"], [("r", "x")])
    counts = tt.GroupCounts(h, (1, 20_000), np.full((1, 20_000), 3))
    release = tt.release(counts, rho="0.1", delta=DELTA, budget={"a": 1, "b": 4})
    plan = release.measurements.plan
    assert [level.loss for level in plan.levels] == [Fraction(1, 50), Fraction(2, 25)]
    assert plan.levels[0].scale == 5
    assert plan.levels[1].scale == Fraction(5, 2)
    check_levels(release, counts, gaussian_p_value)


# Releases.


@pytest.mark.parametrize("kind", [kind for kind in MECHANISMS if kind.consistent], ids=lambda kind: kind.name)
def test_every_mechanism_makes_a_release_with_gaussian_noise(kind: Any, tmp_path: Path) -> None:
    release = tt.release(COUNTS, epsilon="30", delta="1e-9", mechanism=kind.name)
    assert release.verify()
    release.save(tmp_path / "out", replicates=0)
    again = tt.load(tmp_path / "out")
    assert again.verify()
    assert again.measurements.plan == release.measurements.plan
    privacy = json.loads((tmp_path / "out" / "manifest.json").read_text())["privacy"]
    assert (privacy["epsilon"], Fraction(privacy["delta"])) == ("30", DELTA)
    assert Fraction(privacy["rho"]) == find_rho(Fraction(30), DELTA)
    assert sum(Fraction(level["rho"]) for level in privacy["levels"]) == Fraction(privacy["rho"])
    assert all("epsilon" not in level for level in privacy["levels"])
    assert "discrete Gaussian" in privacy["noise"]
    rho = show_exact(Fraction(privacy["rho"]))
    assert f"zero-concentrated differentially private with rho = {rho}" in privacy["statement"]
    assert "epsilon = 30 at delta = 1e-9" in privacy["statement"]


def test_a_release_with_less_noise_than_stated_does_not_verify(tmp_path: Path) -> None:
    tt.release(COUNTS, rho="0.1", delta=DELTA).save(tmp_path / "out", replicates=0)
    path = tmp_path / "out" / "manifest.json"
    good = json.loads(path.read_text())
    scale = Fraction(good["privacy"]["levels"][0]["scale"])
    changes: list[Callable[[Any], object]] = [
        lambda privacy: privacy["levels"][0].update(scale=str(scale - Fraction(1, 10**6))),
        lambda privacy: privacy["levels"][0].update(rho="1/30"),
        lambda privacy: privacy.update(epsilon="1"),
        lambda privacy: privacy.update(delta="1/10000000000"),
    ]
    for change in changes:
        bad = json.loads(json.dumps(good))
        change(bad["privacy"])
        path.write_text(json.dumps(bad))
        failed = [check.name for check in tt.load(tmp_path / "out").verify().checks if check.failed]
        assert "budget" in failed


def test_the_published_chain_states_its_real_rho() -> None:
    sound, published = (
        tt.mechanism("cumulative-chain", calibration=how).plan(H, sizes=(1, 4), rho="0.1", delta=DELTA)
        for how in ("sound", "published")
    )
    ratio = published.loss.rho / sound.loss.rho
    assert Fraction(199, 100) < ratio <= 2  # (1 + 3 regions) / 2 levels
    assert published.epsilon > sound.epsilon
    assert published.levels[1].scale < sound.levels[1].scale


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "Give the budget"),
    "both": ({"epsilon": 1, "rho": 1, "delta": DELTA}, "not as both"),
    "rho alone": ({"rho": 1}, "delta at which"),
    "delta alone": ({"delta": DELTA}, "Give the budget"),
    "delta 1": ({"epsilon": 1, "delta": 1}, "below 1"),
    "delta 0": ({"epsilon": 1, "delta": 0}, "above zero"),
    "delta float": ({"epsilon": 1, "delta": 1e-9}, "float"),
    "rho float": ({"rho": 0.1, "delta": DELTA}, "float"),
    "tiny epsilon": ({"epsilon": "1e-9", "delta": DELTA}, "must be from"),
    "tiny rho": ({"rho": "1e-25", "delta": DELTA}, "too small"),
    "huge rho": ({"rho": "1e9", "delta": DELTA}, "too large"),
    "huge epsilon": ({"epsilon": 1001, "delta": DELTA}, "must be from"),
    "huge pure epsilon": ({"epsilon": 1001}, "epsilon is too large: there is no privacy left above 1000"),
    "huge implied epsilon": ({"rho": 900, "delta": DELTA}, "epsilon that rho implies at delta is too large"),
    "delta 0.9": ({"epsilon": 1, "delta": "0.9"}, "delta is too large"),
    "delta beside the groups": ({"epsilon": 1, "delta": Fraction(1, 1829)}, "delta is too large"),
    "delta beside rho": ({"rho": "0.1", "delta": Fraction(1, 1829)}, "delta is too large"),
    "digits": ({"epsilon": 1, "delta": DELTA, "noise": "digits"}, "takes no delta"),
    "opendp": ({"epsilon": 1, "delta": DELTA, "noise": "opendp"}, "takes no delta"),
    "gaussian": ({"epsilon": 1, "noise": "gaussian"}, "needs a delta"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_together_is_refused_before_it_is_charged(case: str, tmp_path: Path) -> None:
    given_, why = WRONG[case]
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="census", rho="100", delta=DELTA)
    with pytest.raises(PrivacyError, match=why):
        tt.release(COUNTS, ledger=ledger, **given_)
    assert ledger.balance().charges == 0


def test_the_largest_epsilon_and_delta_make_a_release() -> None:
    """One in ten times the groups, which are 183 and 0; nothing is too few for one in a thousand."""
    assert tt.release(COUNTS, epsilon=1000).verify()
    assert COUNTS.total == 183
    assert tt.release(COUNTS, epsilon=1, delta=Fraction(1, 1830)).verify()
    nobody = COUNTS.replace(np.zeros((3, 4), dtype=np.int64))
    assert tt.release(nobody, epsilon=1, delta="0.001").verify()
    with pytest.raises(PrivacyError, match=r"never above 0\.001"):
        tt.release(nobody, epsilon=1, delta="0.0011")


def test_research_may_have_any_epsilon() -> None:
    assert tt.mechanism("direct-dp").plan(H, sizes=(1, 4), epsilon=1001).epsilon == 1001
    exact = tt.simulate(COUNTS, epsilon=10_000, seed=1)
    np.testing.assert_array_equal(exact.counts[1], COUNTS.array(1))


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ({"epsilon": 1001}, "The budget is too large"),
        ({"epsilon": 1001, "delta": DELTA}, "must be from"),
        ({"rho": 1001, "delta": DELTA}, "The budget is too large"),
        ({"epsilon": 1, "delta": "0.9"}, "delta is too large"),
    ],
)
def test_no_ledger_keeps_a_budget_that_protects_nobody(
    budget: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(PrivacyError, match=why):
        tt.Ledger.create(tmp_path / "ledger.db", dataset="census", **budget)
    assert not (tmp_path / "ledger.db").exists()
    tt.Ledger.create(tmp_path / "ledger.db", dataset="census", epsilon=1000)


def test_noise_of_the_other_kind_is_never_measured() -> None:
    pure = tt.mechanism("direct-dp").plan(H, sizes=(1, 4), epsilon=1)
    gaussian = tt.mechanism("direct-dp").plan(H, sizes=(1, 4), epsilon=1, delta=DELTA)
    for plan, noise in ((pure, GaussianNoise()), (gaussian, DigitNoise())):
        with pytest.raises(TypeError, match="The plan needs"):
            measure(plan, COUNTS, noise=noise)
    with pytest.raises(TypeError, match="The plan needs"):
        measure_with_seed(gaussian, COUNTS, noise=SeededNoise(1))


def test_a_level_with_gaussian_noise_has_no_epsilon_of_its_own() -> None:
    plan = tt.mechanism("direct-dp").plan(H, sizes=(1, 4), epsilon=1, delta=DELTA)
    assert plan.epsilon == 1
    with pytest.raises(PrivacyError, match="only the whole plan"):
        plan.levels[0].epsilon  # noqa: B018 - reading it is the point


def test_a_simulation_can_be_made_with_it() -> None:
    one, same, other = (
        tt.simulate(COUNTS, epsilon=1, delta=DELTA, mechanism="cumulative-dp", seed=seed)
        for seed in (4, 4, 5)
    )
    assert all(np.array_equal(a, b) for a, b in zip(one.counts, same.counts, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one.counts, other.counts, strict=True))
    assert tt.evaluate(one, COUNTS)["violations"].to_pylist() == [0, 0]


# The ledger.


def test_a_budget_in_rho_pays_for_both_kinds_of_noise(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger = tt.Ledger.create(place, dataset="census", rho="0.1", delta=DELTA)
    gaussian = tt.release(COUNTS, rho="0.04", delta=DELTA, ledger=ledger)
    pure = tt.release(COUNTS, epsilon="0.4", ledger=ledger)  # two levels of 0.2: 2 x 0.2^2 / 2
    assert [(row.unit, row.amount) for row in read_rows(place)] == [
        ("rho", "1/10"),
        ("rho", "1/25"),
        ("rho", "1/25"),
    ]
    assert ledger.verify([gaussian, pure])
    assert ledger.balance().remaining == Fraction(1, 50)
    with pytest.raises(LedgerError, match="requested 1/40, remaining 1/50, difference 1/200"):
        tt.release(COUNTS, rho="0.025", delta=DELTA, ledger=ledger)
    assert ledger.balance().charges == 2


def test_a_budget_in_epsilon_cannot_pay_for_gaussian_noise(tmp_path: Path) -> None:
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="census", epsilon=5)
    with pytest.raises(LedgerError, match="an epsilon, which Gaussian noise cannot keep"):
        tt.release(COUNTS, epsilon=1, delta=DELTA, ledger=ledger)
    assert ledger.balance().charges == 0


def test_a_budget_of_epsilon_and_delta_is_kept_as_a_rho(tmp_path: Path) -> None:
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="census", epsilon=1, delta=DELTA)
    assert ledger.balance().total == find_rho(Fraction(1), DELTA)
    tt.release(COUNTS, epsilon=1, delta=DELTA, ledger=ledger)  # just the whole of it
    assert ledger.balance().remaining == 0


# The command line.


@pytest.fixture
def table(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("state,size,groups\nGA,1,5\nGA,2,3\nNY,1,9\nNY,3,1\n")


FLAGS = ["release", "counts.csv", "--region", "state", "--sizes", "1:3"]


@pytest.mark.usefixtures("table")
def test_the_command_line_takes_delta_and_rho(run: Run) -> None:
    code, out, _ = run("ledger", "create", "l.db", "--dataset", "d", "--epsilon", "2", "--delta", "1e-9")
    assert code == 0
    assert "has the budget rho = 0.0" in out
    words = ["--epsilon", "1", "--delta", "1e-9", "--out", "a", "--ledger", "l.db", "--json"]
    code, out, _ = run(*FLAGS, *words)
    assert code == 0
    shown = json.loads(out)
    assert (shown["epsilon"], shown["delta"]) == ("1", "1/1000000000")
    assert shown["ledger"]["unit"] == "rho"
    assert shown["ledger"]["charged"] == shown["rho"]
    assert run("verify", "a")[0] == 0
    code, out, _ = run(*FLAGS, "--rho", "0.01", "--delta", "1e-9", "--out", "b")
    assert code == 0
    assert "rho = 0.01" in out


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--out", "a"], "'epsilon' is missing"),
        (["--rho", "1", "--out", "a"], "delta"),
        (["--epsilon", "1", "--noise", "gaussian", "--out", "a"], "needs a delta"),
        (["--epsilon", "1", "--delta", "2", "--out", "a"], "below 1"),
        (["--epsilon", "1", "--delta", "0.9", "--out", "a"], "delta is too large"),
        (["--epsilon", "1e6", "--out", "a"], "no privacy left above 1000"),
        (["--rho", "5000", "--delta", "1e-9", "--out", "a"], "no privacy left above 1000"),
        (["--epsilon", "1", "--mechanism", "direct-qp", "--out", "a"], "cannot make a release"),
    ],
)
def test_what_is_wrong_is_said_before_the_data_are_read(bench: Bench, words: list[str], why: str) -> None:
    Path("counts.csv").unlink()
    Case([*FLAGS, *words], why).check(bench)
