"""Numbers in plain digits are taken, and no others: not 1_0, nor the digits of other scripts."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import tallytree
from tallytree.comparison.comparing import compare
from tallytree.errors import CountsError, InputError, PrivacyError
from tallytree.intervals.replicates import add_intervals
from tallytree.privacy.budget import parse_exact
from tallytree.research.auditing.audit_run import audit
from tests.bad_input_support import CSV, Bench, Case, refused
from tests.servers import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

tt: Any = tallytree
"""Untyped here: some of these calls have types that are not declared."""

ODD = ["1_0", "\uff11", "\uff11\uff10", "\u0661", "1\u00a00", "\u00b2"]
"""What Python or an engine may read as a number, and people would not."""


@pytest.mark.parametrize("text", [*ODD, "1/\uff13", "1__0", "0x10", "1e\uff11", "1 / 3", "nan", "-inf", ""])
def test_text_that_is_no_plain_number_is_no_epsilon(text: str) -> None:
    with refused(PrivacyError, r"^epsilon is not a number: "):
        parse_exact(text, "epsilon")


@pytest.mark.parametrize("text", ["0.5", " 0.5 ", ".5", "5e-1", "5E-1", "+0.5", "1/2", "00.50"])
def test_plain_numbers_are_taken(text: str) -> None:
    assert parse_exact(text, "epsilon") == Fraction(1, 2)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_is_no_number_is_not_called_inexact(value: str, kind: Any) -> None:
    with pytest.raises(PrivacyError, match=r"^epsilon must be a finite number above zero\.$"):
        parse_exact(kind(value), "epsilon")


@pytest.mark.parametrize("kind", [float, np.float64, np.float16])
def test_a_float_is_called_one(kind: Any) -> None:
    with pytest.raises(PrivacyError, match=r'^epsilon is a float.* such as "0\.5"'):
        parse_exact(kind(0.5), "epsilon")


@pytest.mark.parametrize("two", [np.int64(2), np.int8(2), np.uint64(2), np.array(2)])
def test_whole_numbers_of_numpy_are_whole_numbers(two: Any, tmp_path: Path) -> None:
    assert parse_exact(two, "epsilon") == 2
    hierarchy = tt.Hierarchy.from_paths(["root", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(
        hierarchy, (two - 1, two), [[5, 6], [7, 8]], bounds=tt.Bounds(max_records=two, max_quantity=two)
    )
    assert counts.sizes == (1, 2)
    made = tt.release(counts, epsilon=two, budget={"root": two, "state": 2})
    assert made.epsilon == 2
    with_intervals = add_intervals(made, replicates=5 * int(two), seed=two)
    with_intervals.save(tmp_path / "release", replicates=0)
    assert tt.load(tmp_path / "release").intervals.seed == 2
    assert compare(made, made, top=two).same
    assert tt.simulate(counts, epsilon=two, seed=two).total == 26
    assert audit("direct-dp", runs=200, seed=two).mechanism == "direct-dp"
    assert tt.Engine(threads=two).threads == 2
    assert tt.GroupCounts(hierarchy, (1, 2), np.array([[two, 1], [1, 1]], dtype=object)).total == 5


RELEASE = ["release", "counts.csv", "--region", "state", "--out", "out"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "words",
    [
        [*RELEASE, "--sizes", "1:3", "--epsilon", "ODD"],
        [*RELEASE, "--sizes", "1:ODD", "--epsilon", "1"],
        [*RELEASE, "--sizes", "ODD:3", "--epsilon", "1"],
        [*RELEASE, "--sizes", "1:3", "--epsilon", "1", "--budget", "root=ODD,state=1"],
        [*RELEASE, "--sizes", "1:3", "--epsilon", "1", "--max-records", "ODD"],
        [*RELEASE, "--sizes", "1:3", "--epsilon", "1", "--max-quantity", "ODD"],
        [*RELEASE, "--sizes", "1:3", "--epsilon", "1", "--replicates", "ODD"],
        [*RELEASE, "--sizes", "1:3", "--epsilon", "1", "--delta", "ODD"],
        ["intervals", "released", "--seed", "ODD"],
        ["intervals", "released", "--coverage", "ODD"],
        ["compare", "released", "released", "--top", "ODD"],
        ["plan", "released", "--epsilon", "1", "--goal", "state<=ODD"],
        ["audit", "direct-dp", "--runs", "ODD"],
        ["audit", "direct-qip", "--option", "time_limit=ODD"],
        ["reproduce", "--timeout", "ODD"],
        ["reproduce", "--instances", "ODD"],
        ["ledger", "create", "ledger.db", "--dataset", "x", "--epsilon", "ODD"],
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_options_take_plain_numbers_only(words: list[str], odd: str, bench: Bench) -> None:
    bench.file("counts.csv", CSV)
    shutil.copytree(bench.released, bench.folder / "released")
    Case([word.replace("ODD", odd) for word in words], "not a").check(bench)


@pytest.mark.parametrize("odd", [*ODD, "0x10"])
@pytest.mark.parametrize("column", ["size", "groups"])
def test_tables_of_counts_hold_plain_numbers_only(odd: str, column: str, tmp_path: Path) -> None:
    row = {"size": "2", "groups": "3", column: odd}
    path = tmp_path / "counts.csv"
    path.write_text(f"state,size,groups\nGA,1,5\nNY,{row['size']},{row['groups']}\n", encoding="utf-8")
    with pytest.raises(CountsError, match=f"'{column}' must be whole numbers"):
        tt.GroupCounts.from_table(path, regions=["state"], sizes=(1, 20))


NUMBERS = ["5", " 5 ", "5.0", "+5", "5e0", "500e-2"]


@pytest.mark.parametrize(
    "engine",
    ["duckdb", *(pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("postgres", "spark"))],
)
def test_quantities_are_plain_numbers_on_every_engine(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    def count(values: list[str]) -> Any:
        table = pa.table({"firm": list(range(len(values))), "hours": values})
        options: dict[str, Any] = {"group": "firm", "regions": [], "sizes": (0, 9), "quantity": "hours"}
        if engine == "postgres":
            url: str = request.getfixturevalue("postgres")
            fill(url, "numerals", table)
            return tt.count_groups(url, table="numerals", max_quantity=9, **options)
        if engine == "spark":
            session: SparkSession = request.getfixturevalue("spark")
            frame = session.createDataFrame(list(enumerate(values)), "firm int, hours string")
            return tt.count_groups(frame, max_quantity=9, **options)
        path = tmp_path / "people.csv"
        path.write_text(
            "firm,hours\n" + "".join(f"{at},{value}\n" for at, value in enumerate(values)), "utf-8"
        )
        return tt.count_groups(path, max_quantity=9, **options)

    assert count(NUMBERS).leaf[0].tolist() == [0, 0, 0, 0, 0, len(NUMBERS), 0, 0, 0, 0]
    odd = [*ODD, "5d", "5f", "0x5", "0x5p0", "five", "NaN", "Infinity", "5_", "_5"]
    with pytest.raises(InputError, match=f"'hours' that are not whole numbers: {len(odd)}"):
        count([*NUMBERS, *odd])
