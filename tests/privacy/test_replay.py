"""What is published depends on the data by the noisy answers alone: neighbours are run side by side.

How that is done is in ``replay_support.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tallytree as tt
from tallytree.mechanisms.registry import MECHANISMS
from tests.privacy.replay_data import (
    EMPTIED,
    FRAME,
    HIERARCHY,
    LEAF,
    LEAVES,
    MOVED,
    NEIGHBOURS,
    ONE,
    ORDERS,
    PEOPLE,
    REGIONS,
    SEVERAL,
    SIZES,
    STRAYS,
    Form,
    Row,
    list_cells,
    shuffle,
    to_table,
)
from tests.privacy.replay_facts import find_differences
from tests.privacy.replay_support import SPARKS_OWN, Play, Recorder, Scene, command, processors, publish
from tests.servers import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def recorder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Recorder:
    return Recorder(tmp_path, capfd)


# Records.

PERSON: dict[str, Any] = {"person": "person"}
CASES: dict[str, dict[str, Any]] = {
    "each record is a person": {"sizes": (1, 3)},
    "persons": {**PERSON, "sizes": (0, 4)},
    "persons, two records": {**PERSON, "max_records": 2, "sizes": (1, 4)},
    "quantities": {**PERSON, "quantity": "hours", "max_quantity": 3, "sizes": (0, 9)},
    "quantities of records": {"quantity": "hours", "max_quantity": 2, "sizes": (2, 5)},
    "hierarchy": {**PERSON, "hierarchy": HIERARCHY, "sizes": (1, 4)},
    "frame": {**PERSON, "frame": FRAME, "sizes": (0, 4)},
    "frame and hierarchy": {**PERSON, "frame": FRAME, "hierarchy": HIERARCHY, "sizes": (0, 4)},
    "groups of two columns": {"group": ["house", "county"], "sizes": (1, 4)},
    "dropped": {**PERSON, "frame": FRAME, "hierarchy": HIERARCHY, "missing": "drop", "sizes": (0, 4)},
    "no regions": {**PERSON, "regions": [], "sizes": (1, 4)},
}
EVERYTHING = {**PERSON, "quantity": "hours", "max_quantity": 3, "max_records": 2, "sizes": (0, 9)}


def count(scene: Scene, source: Any, **options: Any) -> tt.GroupCounts:
    given = {"group": "house", "regions": REGIONS, "root": "US", "progress": scene.progress, **options}
    return tt.count_groups(source, **given)


def release_records(rows: list[Row], form: Form = ONE["Arrow"], **options: Any) -> Play:
    """Count records in some form, and release the counts."""

    def play(scene: Scene) -> None:
        publish(scene, count(scene, form(to_table(rows), scene.data), **options))

    return play


@pytest.mark.parametrize("case", CASES)
def test_one_person_changes_nothing_but_the_noisy_answers(recorder: Recorder, case: str) -> None:
    options = CASES[case]
    neighbours = [*NEIGHBOURS.values(), *([EMPTIED] if "frame" in options else [])]
    if "missing" in options:
        neighbours += STRAYS.values()
    first = recorder.record(release_records(PEOPLE, **options))
    for rows in neighbours:
        assert find_differences(first, recorder.replay(release_records(rows, **options))) == []


def test_all_that_is_published_is_looked_at(recorder: Recorder) -> None:
    """So that the tests do not pass because nothing is compared."""
    facts = recorder.record(release_records(PEOPLE, sizes=(1, 4)))
    for place in (
        *("release.parquet", "measurements.parquet", "manifest.json", "report.html"),
        *("ledger.db", "ledger: line 2", "repr: line 1", "in a notebook: line 1", "pickle: bytes"),
        *("sampler: call 2", "noise: level 'county'", "progress: Counting groups", "data.total"),
        *("column 'county': dictionary", "column 'county': values", "row groups", "rights", "time"),
    ):
        assert any(place in known for known in facts), place


def in_another_form(rows: list[Row], form: Form) -> Play:
    return release_records(rows, lambda table, folder: form(shuffle(table), folder), **EVERYTHING)


def test_no_form_of_the_records_is_seen(recorder: Recorder) -> None:
    first = recorder.record(release_records(PEOPLE, **EVERYTHING))
    fewer = NEIGHBOURS["one person fewer"]
    for name, form in (ONE | SEVERAL).items():
        assert find_differences(first, recorder.replay(in_another_form(fewer, form))) == [], name


@pytest.mark.parametrize("mechanism", ["cumulative-joint", "topdown"])
def test_one_thread_or_many_make_no_difference(recorder: Recorder, mechanism: str) -> None:
    def play(rows: list[Row], threads: int) -> Play:
        def run(scene: Scene) -> None:
            with processors(threads):
                counts = count(scene, to_table(rows), engine=tt.Engine(threads=threads), **EVERYTHING)
                publish(scene, counts, mechanism=mechanism)

        return run

    first = recorder.record(play(PEOPLE, 1))
    for threads in (1, 4):
        second = recorder.replay(play(NEIGHBOURS["one person fewer"], threads))
        # Noise is drawn in more and smaller pieces, in any order.
        assert find_differences(first, second, without=("sampler: call ",)) == []
    again = recorder.replay(play(PEOPLE, 4))
    assert find_differences(again, second) == []


@pytest.mark.xdist_group("postgres")
def test_nothing_is_seen_through_postgresql(recorder: Recorder, postgres: str) -> None:
    def play(rows: list[Row]) -> Play:
        def run(scene: Scene) -> None:
            fill(postgres, "replayed", shuffle(to_table(rows), seed=len(rows)))
            publish(scene, count(scene, postgres, table="replayed", **EVERYTHING))

        return run

    first = recorder.record(play(PEOPLE))
    for rows in NEIGHBOURS.values():
        assert find_differences(first, recorder.replay(play(rows))) == []
    elsewhere = recorder.replay(release_records(PEOPLE, **EVERYTHING))
    assert find_differences(first, elsewhere, without=("progress: ",)) == []


@pytest.mark.xdist_group("spark")
def test_nothing_is_seen_through_spark(recorder: Recorder, spark: SparkSession) -> None:
    def count_frame(scene: Scene) -> None:
        path = ONE["Parquet, row groups"](to_table(PEOPLE), scene.data)
        publish(scene, count(scene, spark.read.parquet(str(path)), **EVERYTHING))

    def count_files(scene: Scene) -> None:
        files = SEVERAL["CSV files"](shuffle(to_table(NEIGHBOURS["one person fewer"])), scene.data)
        publish(scene, count(scene, files, engine=tt.Engine(name="spark"), **EVERYTHING))

    first = recorder.record(count_frame)
    assert find_differences(first, recorder.replay(count_files), without=(SPARKS_OWN,)) == []
    elsewhere = recorder.replay(release_records(PEOPLE, **EVERYTHING))
    assert find_differences(first, elsewhere, without=(SPARKS_OWN, "progress: ")) == []


# Tables of counts.

TREE = tt.Hierarchy.from_paths(
    ["root", *REGIONS], [("all", *filter(None, leaf)) for leaf in [*LEAVES[::-1], ("NY", "Bronx")]]
)
GIVEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "sizes": {"sizes": (0, 5)},
    "hierarchy": {"hierarchy": TREE},
    "both": {"sizes": SIZES, "hierarchy": TREE, "bounds": tt.Bounds(max_records=2, max_quantity=2)},
}


def release_table(leaf: Any, order: str, form: str = "Arrow", **options: Any) -> Play:
    def play(scene: Scene) -> None:
        source = ONE[form](list_cells(leaf, ORDERS[order]), scene.data)
        publish(scene, tt.GroupCounts.from_table(source, regions=REGIONS, **options))

    return play


@pytest.mark.parametrize("given", GIVEN)
def test_no_order_of_a_table_of_counts_is_seen(recorder: Recorder, given: str) -> None:
    options = GIVEN[given]
    first = recorder.record(release_table(LEAF, "as they are", **options))
    for order in ORDERS:
        for name, leaf in MOVED.items():
            second = recorder.replay(release_table(leaf, order, **options))
            assert find_differences(first, second) == [], (order, name)


def test_no_form_of_a_table_of_counts_is_seen(recorder: Recorder) -> None:
    first = recorder.record(release_table(LEAF, "by groups", **GIVEN["sizes"]))
    for form in ONE:
        second = recorder.replay(release_table(MOVED["Travis"], "by groups", form, **GIVEN["sizes"]))
        assert find_differences(first, second) == [], form


# Mechanisms and what else can be chosen.

SMALL = tt.Hierarchy.from_paths(["nation", "state"], [("US", "NY"), ("US", "GA")])
CHOICES: dict[str, dict[str, Any]] = {
    **{kind.name: {"mechanism": kind.name} for kind in MECHANISMS if kind.consistent},
    "public total of the root": {"public_totals": "nation", "mechanism": "cumulative-joint"},
    "public totals of all": {"public_totals": "state", "mechanism": "cumulative-joint"},
    "count-of-counts, l2": {"mechanism": tt.mechanism("count-of-counts", norm="l2")},
    "budget": {"budget": {"nation": 1, "state": "2.5"}},
    "delta": {"delta": "1e-9"},
    "rho": {"delta": "1e-9", "rho": "1/3", "epsilon": None},
    "sampler of OpenDP": {"noise": "opendp"},
    "intervals": {"replicates": 10},
    "intervals, Gaussian": {"replicates": 10, "delta": "1e-9", "mechanism": "direct-dp"},
}


def release_counts(leaf: Any, **options: Any) -> Play:
    def play(scene: Scene) -> None:
        publish(scene, tt.GroupCounts(SMALL, (1, 3), leaf), **{"epsilon": "4", **options})

    return play


@pytest.mark.parametrize("choice", CHOICES)
def test_every_mechanism_works_from_the_noisy_answers_alone(recorder: Recorder, choice: str) -> None:
    options = CHOICES[choice]
    first = recorder.record(release_counts([[3, 2, 0], [1, 4, 1]], **options))
    for leaf in ([[3, 1, 1], [1, 4, 1]], [[3, 2, 0], [0, 4, 2]]):
        assert find_differences(first, recorder.replay(release_counts(leaf, **options))) == []


# The command line.

COUNTING = ["--group", "house", "--person", "person", "--quantity", "hours", "--max-quantity", 3]
COUNTED = ["--region", "state", "--region", "county", "--sizes", "0:9"]
FRAMED = ["--frame", "../data/frame/data.csv"]
SPENDING = ["--epsilon", "1", "--ledger", "ledger.db", "--out", "out"]


def run_commands(rows: list[Row], *more: object) -> Play:
    """Count to a file, then release the records, and then the counts."""

    def play(scene: Scene) -> None:
        ONE["CSV"](to_table(rows), scene.data)
        (scene.data / "frame").mkdir()
        ONE["CSV"](FRAME, scene.data / "frame")
        words = ["../data/data.csv", *COUNTING, *COUNTED, *FRAMED]
        command(scene, "ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "3")
        command(scene, "count", *words, "--out", "sensitive.parquet", *more)
        command(scene, "release", *words, *SPENDING, "--replicates", 10, *more)
        again = ["--mechanism", "topdown", *SPENDING[:-1], "again", "--replicates", 0]
        command(scene, "release", "sensitive.parquet", *COUNTED, *again, *more)
        command(scene, "ledger", "show", "ledger.db", *more)

    return play


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["people", "programs"])
def test_commands_print_and_write_nothing_else(recorder: Recorder, more: tuple[str, ...]) -> None:
    first = recorder.record(run_commands(PEOPLE, *more))
    assert first["exit code of release: line 1"] == "0"
    assert "work/out/intervals.parquet: bytes" in first
    assert "work/sensitive.parquet: bytes" not in first
    assert first["work/sensitive.parquet: rights"] == "0o100600"
    assert find_differences(first, recorder.replay(run_commands(EMPTIED, *more))) == []


def test_a_table_of_counts_is_released_by_a_command(recorder: Recorder) -> None:
    def play(leaf: Any, order: str) -> Play:
        def run(scene: Scene) -> None:
            ONE["CSV"](list_cells(leaf, ORDERS[order]), scene.data)
            words = ["--region", "state", "--region", "county", "--sizes", "1:4", "--epsilon", "1"]
            command(scene, "release", "../data/data.csv", *words, "--out", "out", "--replicates", 0)

        return run

    first = recorder.record(play(LEAF, "by groups of a size"))
    assert find_differences(first, recorder.replay(play(MOVED["Travis"], "by groups of a size"))) == []
