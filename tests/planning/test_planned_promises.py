"""What the planned release promises: whom it protects, whether the total is public, sizes or classes."""

import json
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import tallytree as tt
from tallytree.cli.console import add_decimals
from tallytree.datasets.invented import FIRM_DECAY, invent_firms, invent_sizes
from tallytree.errors import MechanismError, PrivacyError
from tallytree.mechanisms.registry import find_default
from tallytree.planning.advice import FINAL_RUNS, Advice, advise_within
from tallytree.planning.forecasts import Forecast, Goal, LevelError, forecast
from tallytree.planning.shapes import find_usual_shape
from tallytree.planning.stand_ins import invent_from_totals, read_release
from tallytree.privacy.budget import Budget
from tallytree.privacy.neighbours import TOTALS, Neighbours, Protected, TotalKind
from tallytree.sizes import Sizes
from tests.commands import Run

LEVELS = ("nation", "state")
CLASSES = tt.SizeClasses([1, 2, 5, 10, 50])
BUDGET = {"nation": 30, "state": 70}


class Promise(NamedTuple):
    """What a release promises."""

    protect: Protected
    total: TotalKind


PROMISES = [
    Promise("person", "public"),
    Promise("person", "private"),
    Promise("group", "public"),
    Promise("group", "private"),
]
WITH_SIZES = pytest.mark.parametrize("sizes", [(1, 8), CLASSES], ids=["range", "classes"])
WITH_PROMISE = pytest.mark.parametrize("promise", PROMISES, ids=["-".join(words) for words in PROMISES])


def make_stand_in(sizes: Sizes, *, bounds: tt.Bounds | None = None) -> tt.GroupCounts:
    columns = 5 if isinstance(sizes, tt.SizeClasses) else 8
    h = tt.Hierarchy.from_paths(LEVELS, [("US", str(i)) for i in range(6)])
    leaf = np.random.default_rng(5).poisson(300 * np.exp(-np.arange(columns) / 2), (6, columns))
    return tt.GroupCounts(h, sizes, leaf, bounds=bounds)


def plan_for(
    promise: Promise,
    sizes: Sizes = CLASSES,
    *,
    mechanism: str | None = None,
    bounds: tt.Bounds | None = None,
    **given: Any,
) -> Advice:
    budget = Budget(**{"epsilon": 1, **promise._asdict(), **given})
    return advise_within(make_stand_in(sizes), budget, goal=Goal("l1"), mechanism=mechanism, bounds=bounds)


# What is expected is what comes true, for this promise and for no other.

Floats = npt.NDArray[np.float64]
RUNS = 24
FAR = 5.0
"""A distance of two means, in standard errors, that chance does not explain."""


def repeat(counts: tt.GroupCounts, promise: Promise, mechanism: str) -> dict[str, Floats]:
    """Errors of releases with noise that the planner has not seen: runs x levels."""
    tables = [
        tt.evaluate(
            tt.simulate(
                counts, epsilon=1, mechanism=mechanism, seed=seed, budget=BUDGET, **promise._asdict()
            ),
            counts,
        ).to_pydict()
        for seed in range(1000, 1000 + RUNS)
    ]
    return {name: np.array([table[name] for table in tables]) for name in ("l1", "groups_off")}


def find_distance(found: Floats, expected: list[float]) -> float:
    """How far apart two means of as many runs are, at the level where they are farthest."""
    error = np.sqrt(2 * found.var(axis=0, ddof=1) / RUNS)
    return float(np.max(np.abs(found.mean(axis=0) - expected) / error))


@WITH_SIZES
@pytest.mark.parametrize(
    ("promise", "other"),
    [  # each with one that this mechanism needs other noise for
        (Promise("person", "public"), Promise("group", "public")),
        (Promise("person", "private"), Promise("group", "private")),
        (Promise("group", "public"), Promise("group", "private")),
        (Promise("group", "private"), Promise("person", "private")),
    ],
    ids=["-".join(words) for words in PROMISES],
)
def test_a_forecast_comes_true_for_its_promise_and_for_no_other(
    promise: Promise, other: Promise, sizes: Sizes
) -> None:
    counts, mechanism = make_stand_in(sizes), find_default(Neighbours(**promise._asdict()), sizes)
    found = repeat(counts, promise, mechanism)
    right, wrong = (
        forecast(counts, Budget(epsilon=1, **kind._asdict()), mechanism=mechanism, split=BUDGET, runs=RUNS)
        for kind in (promise, other)
    )
    assert find_distance(found["l1"], [level.l1 for level in right.levels]) < FAR
    assert find_distance(found["l1"], [level.l1 for level in wrong.levels]) > FAR
    if promise.total == "public":
        assert right.levels[0].groups_off == found["groups_off"][:, 0].max() == 0.0
    else:
        assert find_distance(found["groups_off"], [level.groups_off for level in right.levels]) < FAR
        assert find_distance(found["groups_off"], [level.groups_off for level in wrong.levels]) > FAR


@WITH_SIZES
@WITH_PROMISE
def test_advice_is_for_what_is_promised(promise: Promise, sizes: Sizes) -> None:
    advice = plan_for(promise, sizes)
    assert advice.neighbours == Neighbours(**promise._asdict())
    names = {case.mechanism for case in (advice.planned, *advice.others)}
    assert advice.planned.mechanism.startswith("direct" if promise.protect == "group" else "cumulative")
    assert find_default(Neighbours(**promise._asdict()), sizes) in names
    assert ("cumulative-chain" in names) == (promise.total == "public")  # which needs a public total
    for case in (advice.planned, advice.even, *advice.others, *advice.trade_off):
        assert case == forecast(
            make_stand_in(sizes),
            Budget(epsilon=case.epsilon, **promise._asdict()),
            mechanism=case.mechanism,
            split=case.budget,
            runs=FINAL_RUNS,
        )
    facts = advice.to_dict()
    assert Promise(facts["protect"], facts["total"]) == promise
    assert ("max_records" in facts) == (promise.protect == "person")
    assert all(level["groups_off"] >= 0 for level in facts["expected"])


def test_the_split_suits_the_mechanism_that_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another than the default is better with the default's split, and better still with its own."""

    def pretend(
        stand_in: tt.GroupCounts, budget: Budget, *, mechanism: str, split: dict[str, int], **given: Any
    ) -> Forecast:
        best = {"cumulative-joint": (80, 500.0), "direct-dp": (20, 100.0)}
        share, least = best.get(mechanism, (50, 1000.0))
        l1 = least + abs(split["nation"] - share)
        level = LevelError("nation", 1, l1, 0.0, 0.0, 0.0, 0.0, 0.0)
        return Forecast(mechanism, Fraction(str(budget.epsilon)), split, "public", (level,), ((level,),) * 5)

    monkeypatch.setattr("tallytree.planning.advice.forecast", pretend)
    advice = plan_for(Promise("person", "public"))
    assert advice.planned.mechanism == "direct-dp"
    assert advice.planned.budget == {"nation": 20, "state": 80}
    cases = (*advice.others, *advice.trade_off)
    assert all(case.budget == advice.planned.budget for case in cases)
    named = plan_for(Promise("person", "public"), mechanism="cumulative-joint")
    assert named.planned.budget == {"nation": 80, "state": 20}


def test_a_mechanism_that_needs_a_public_total_is_not_planned_for_a_private_one() -> None:
    for name in ("cumulative-chain", "count-of-counts"):
        with pytest.raises(MechanismError, match="needs a public total"):
            plan_for(Promise("person", "private"), mechanism=name)
    with pytest.raises(PrivacyError, match="need a public total"):
        plan_for(Promise("person", "private"), public_totals="state")


def test_a_total_is_taken_as_a_release_of_the_stand_in_would() -> None:
    for has_frame, low, kind in (
        (None, 1, "public"),
        (True, 1, "public"),
        (False, 1, "private"),
        (False, 0, "public"),
    ):
        known = make_stand_in((1, 8))
        counts = tt.GroupCounts(known.hierarchy, (low, low + 7), known.leaf, has_frame=has_frame)
        advice = advise_within(counts, Budget(epsilon=1), goal=Goal(), mechanism="direct-dp")
        assert advice.neighbours.total == kind == tt.release(counts, epsilon=1).measurements.plan.total


# Bounds on a person, where whole groups are protected.


def test_bounds_on_a_person_are_refused_where_whole_groups_are_protected() -> None:
    for total in TOTALS:
        with pytest.raises(PrivacyError, match="what one person contributes is of no matter"):
            plan_for(Promise("group", total), bounds=tt.Bounds(max_quantity=9))
    # Those of the stand-in are about another promise, and not asked for.
    bounded = make_stand_in(CLASSES, bounds=tt.Bounds(max_quantity=9))
    advice = advise_within(bounded, Budget(epsilon=1, protect="group"), goal=Goal(), mechanism="direct-dp")
    assert advice.neighbours.bounds == tt.Bounds()
    assert advice.planned == plan_for(Promise("group", "public"), mechanism="direct-dp").planned


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"protect": "firm"}, "'protect' cannot be 'firm'"),
        ({"total": "secret"}, "'total' cannot be 'secret'"),
        ({"total": "private", "sizes": (0, 7)}, "a group of size 0 does not exist"),
    ],
)
def test_a_promise_that_makes_no_sense_is_refused(given: dict[str, Any], why: str) -> None:
    sizes = given.pop("sizes", (1, 8))
    with pytest.raises(PrivacyError, match=why):
        plan_for(PROMISES[0], sizes, **given)


def test_a_private_number_of_groups_does_not_limit_delta() -> None:
    delta = f"1/{2 * make_stand_in(CLASSES).total}"
    public, private = (
        plan_for(Promise("person", total), delta=delta, mechanism="direct-dp") for total in TOTALS
    )
    assert len(public.warnings) == 1
    assert not private.warnings


# The command.


def write_table(path: Path, counts: tt.GroupCounts) -> None:
    edges = counts.sizes.edges if isinstance(counts.sizes, tt.SizeClasses) else range(1, 9)
    rows = [
        f"{region[1]},{size},{groups}"
        for region, row in zip(counts.hierarchy.leaves, counts.leaf.tolist(), strict=True)
        for size, groups in zip(edges, row, strict=True)
    ]
    path.write_text("\n".join(["state,size,groups", *rows]) + "\n")


@WITH_SIZES
@WITH_PROMISE
def test_the_command_plans_what_is_then_released(
    promise: Promise, sizes: Sizes, run: Run, tmp_path: Path
) -> None:
    counts = make_stand_in(sizes)
    for name in ("earlier.csv", "counts.csv"):
        write_table(tmp_path / name, counts)
    words = ["--classes", "1,2,5,10,50"] if isinstance(sizes, tt.SizeClasses) else ["--sizes", "1:8"]
    words += ["--region", "state", "--root", "US", "--root-level", "nation", "--epsilon", "1"]
    words += ["--protect", promise.protect, "--total", promise.total, "--data", "counts.csv"]
    done = run("plan", "earlier.csv", *words, "--out", "release.toml", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == add_decimals(plan_for(promise, sizes).to_dict())
    settings = tomllib.loads((tmp_path / "release.toml").read_text())
    assert Promise(settings["protect"], settings["total"]) == promise
    assert run("release", "--spec", "release.toml", "--replicates", "0").code == 0
    made = tt.load(tmp_path / "release")
    assert Promise(made.measurements.plan.protect, made.measurements.plan.total) == promise
    assert made.sizes == sizes
    # The next plan, on this release, is for the same promise unless told otherwise.
    stand_in, kinds, _ = read_release(tmp_path / "release")
    assert kinds == Neighbours(**promise._asdict())
    assert stand_in.total_kind == promise.total
    again = run("plan", "release", "--epsilon", "1", "--mechanism", "direct-dp", "--json")
    facts = json.loads(again.out)
    assert Promise(facts["protect"], facts["total"]) == promise


def test_the_command_shows_how_far_off_a_private_number_of_groups_is(run: Run, tmp_path: Path) -> None:
    write_table(tmp_path / "earlier.csv", make_stand_in(CLASSES))
    words = ["earlier.csv", "--region", "state", "--classes", "1,2,5,10,50", "--epsilon", "1"]
    shown = {total: run("plan", *words, "--total", total).out for total in ("public", "private")}
    assert ["groups off" in text for text in shown.values()] == [False, True]
    for total, text in shown.items():
        assert f"with a {total} list of groups" in " ".join(text.split())
    expected = advise_within(
        make_stand_in(CLASSES), Budget(epsilon=1, total="private"), goal=Goal()
    ).planned.levels[1]
    (row,) = [line.split() for line in shown["private"].splitlines() if line.strip().startswith("state  ")]
    assert f"{expected.emd_above:,.1f}" in row  # and not that from below
    assert f"{expected.groups_off:,.1f}" in row
    whole = run("plan", *words, "--protect", "group", "--mechanism", "direct-dp").out
    assert "Planned to protect whole groups, with a public list" in " ".join(whole.split())
    assert "--max-records" not in whole


def test_a_flag_overrides_what_the_earlier_release_promises(run: Run, tmp_path: Path) -> None:
    bounded = make_stand_in(CLASSES, bounds=tt.Bounds(max_quantity=9))
    tt.release(bounded, epsilon=1, total="private").save(tmp_path / "earlier", replicates=0)
    words = ["plan", "earlier", "--epsilon", "1", "--mechanism", "direct-dp"]
    facts = json.loads(run(*words, "--json").out)
    assert (facts["protect"], facts["total"], facts["max_quantity"]) == ("person", "private", 9)
    # Its bounds on a person are not those of a release that protects groups, which has none.
    facts = json.loads(run(*words, "--protect", "group", "--total", "public", "--json").out)
    assert (facts["protect"], facts["total"]) == ("group", "public")
    code, _, err = run(*words, "--protect", "group", "--max-records", "2")
    assert code == 2
    assert "what one person contributes is of no matter" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--sizes", "1:8", "--classes", "1,5"], "Give 'sizes' or 'classes', not both"),
        (["--classes", "1,x"], "nor one of us-cbp, eu-sbs"),
        (["--classes", "1,5", "--protect", "firm"], "'protect' cannot be 'firm'"),
        (["--classes", "1,5", "--protect", ""], "'protect' cannot be ''"),
        (["--classes", "1,5", "--total", "secret"], "'total' cannot be 'secret'"),
        (["--sizes", "0:8", "--total", "private"], "a group of size 0 does not exist"),
        (["--classes", "1,5", "--total", "private", "--public-totals", "state"], "need a public total"),
        (["--classes", "1,5", "--mechanism", ""], "There is no mechanism ''"),
    ],
)
def test_a_promise_that_makes_no_sense_is_one_error(
    words: list[str], why: str, run: Run, tmp_path: Path
) -> None:
    write_table(tmp_path / "earlier.csv", make_stand_in((1, 8)))
    code, out, err = run("plan", "earlier.csv", "--region", "state", "--epsilon", "1", *words)
    assert (code, out) == (2, "")
    assert why in " ".join(err.split())


# Stand-ins in classes.


def test_sizes_of_a_table_are_put_into_the_classes_of_the_plan(run: Run, tmp_path: Path) -> None:
    """A table of single sizes, and one of the classes: the same stand-in, so the same plan."""
    single = make_stand_in((1, 8))
    write_table(tmp_path / "single.csv", single)
    sums = np.add.reduceat(single.leaf, [0, 1, 4], axis=1)  # 1, 2-4, 5 and more
    rows = [f"{i},{size},{n}" for i, row in enumerate(sums) for size, n in zip((1, 2, 5), row, strict=True)]
    (tmp_path / "classes.csv").write_text("\n".join(["state,size,groups", *rows]))
    words = ["--region", "state", "--classes", "1,2,5", "--epsilon", "1", "--mechanism", "direct-dp"]
    plans = [run("plan", name, *words, "--json") for name in ("single.csv", "classes.csv")]
    assert plans[0].code == 0
    assert plans[0].out == plans[1].out


@pytest.mark.parametrize("edges", [[1, 2, 3, 7], [0, 1, 5], [4, 6, 900]])
def test_invented_households_are_put_into_their_classes(edges: list[int]) -> None:
    """The slow way: draw single sizes, and add up those of each class."""
    households, wide = np.array([500, 0, 3000]), (0, 1000)
    single = invent_sizes(households, wide, np.random.default_rng(3))
    expected = np.zeros((3, len(edges)), dtype=np.int64)
    for size in range(1001):
        place = max(k for k in range(len(edges)) if k == 0 or edges[k] <= size)
        expected[:, place] += single[:, size]
    found = invent_sizes(households, tt.SizeClasses(edges), np.random.default_rng(3))
    np.testing.assert_array_equal(found, expected)


def invent(sizes: Sizes, totals: Mapping[str, int]) -> tt.GroupCounts:
    table = pa.table({"state": list(totals), "firms": list(totals.values())})
    return invent_from_totals(
        table,
        regions=["state"],
        groups="firms",
        sizes=sizes,
        root="US",
        root_level="nation",
        shape=find_usual_shape(sizes),
    )


def test_sizes_invented_in_classes_are_those_of_firms_where_no_household_is_so_large() -> None:
    totals = {"GA": 100_000, "NY": 0, "WY": 7}
    firms = invent(tt.SizeClasses("us-cbp"), totals)
    assert firms.leaf.sum(axis=1).tolist() == list(totals.values())
    shares = firms.leaf[0] / 100_000
    at_least = np.cumsum(shares[::-1])[::-1]
    law = np.array([1, 5, 10, 20, 50, 100, 250, 500, 1000]) ** -FIRM_DECAY
    error = np.sqrt(law * (1 - law) / 100_000)
    assert (np.abs(at_least - law) <= 5 * error).all()
    assert (np.abs(at_least - law**1.1) > 5 * error)[1:6].all()  # as a steeper law would be seen
    households = invent(tt.SizeClasses([1, 2, 3, 4, 5, 6, 7]), totals)
    assert households.leaf[0].argmax() == 1  # of two people
    assert invent(tt.SizeClasses([1, 2**31]), totals).leaf[0].sum() == 100_000  # in no more memory


def test_a_plan_on_invented_firms_expects_the_errors_of_firms() -> None:
    """Of firms whose shares of the classes are not those of the law, and vary from county to county."""
    rng, classes = np.random.default_rng(1), tt.SizeClasses("us-cbp")
    shares = np.array([55, 19, 12, 8.5, 3, 1.6, 0.4, 0.2, 0.1])
    numbers = rng.lognormal(5.5, 1.4, 100).astype(np.int64)
    leaf = rng.multinomial(numbers, rng.dirichlet(60 * shares / shares.sum(), 100))
    h = tt.Hierarchy.from_paths(LEVELS, [("US", str(i)) for i in range(100)])

    def expect(counts: npt.NDArray[np.int64]) -> float:
        found = forecast(
            tt.GroupCounts(h, classes, counts),
            Budget(epsilon=1, protect="group", total="private"),
            mechanism="direct-dp",
            split=BUDGET,
            runs=FINAL_RUNS,
        )
        return found.total_l1

    firms, households = (
        expect(draw(numbers, classes, np.random.default_rng(2))) for draw in (invent_firms, invent_sizes)
    )
    assert firms == pytest.approx(expect(leaf), rel=0.1)
    assert households < 0.7 * firms


def test_firms_below_the_first_class_count_at_it() -> None:
    firms = np.array([1000, 3])
    for edges in ([5, 10], [0, 1, 20], [7]):
        found = invent_firms(firms, tt.SizeClasses(edges), np.random.default_rng(1))
        assert found.sum(axis=1).tolist() == [1000, 3]
    assert not invent_firms(firms, tt.SizeClasses([0, 1, 20]), np.random.default_rng(1))[:, 0].any()


def test_the_command_invents_sizes_in_classes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text("state,firms\nGA,4000\nNY,2500\n")
    words = ["plan", "totals.csv", "--totals", "--groups", "firms", "--region", "state", "--epsilon", "1"]
    done = run(*words, "--classes", "us-cbp", "--protect", "group", "--out", "release.toml", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["mechanism"] == "direct-dp"
    settings = tomllib.loads((tmp_path / "release.toml").read_text())
    assert settings["classes"] == [1, 5, 10, 20, 50, 100, 250, 500, 1000]
    assert (settings["protect"], settings["total"]) == ("group", "public")
