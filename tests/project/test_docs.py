"""Every example of the documentation runs as it is written, on small files."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from scripts.readme import insert_table

import tallytree as tt
from tallytree.research.reproduction.document import with_deviation
from tallytree.research.reproduction.run_results import Spread
from tests.commands import run_script
from tests.datasets import test_datasets_census as census
from tests.datasets import test_datasets_taxi as taxi
from tests.ledger.ledger_support import make_schema
from tests.servers import ObjectStore, connect_mariadb, fill, fill_rows, need

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = ROOT / "docs" / "your-data.md"
LEDGER = ROOT / "docs" / "ledger.md"
GAUSSIAN = ROOT / "docs" / "gaussian.md"
REPORT = ROOT / "docs" / "report.md"
INTERVALS = ROOT / "docs" / "intervals.md"
READING = ROOT / "docs" / "reading-a-release.md"
README = ROOT / "README.md"
LEDGER_URL = "postgresql://keeper@db.example.org/ledgers"
URL = "postgresql://analyst@db.example.org/census"
MYSQL_URL = "mysql://analyst@db.example.org/census"

PEOPLE = pa.table(
    {
        "person": [81, 82, 83, 84],
        "household": [17, 17, 18, 19],
        "state": ["GA", "GA", "NY", "NY"],
        "county": ["Fulton", "Fulton", "Kings", "Queens"],
        "age": [40, 12, 33, 70],
    }
)
HOUSEHOLDS = pa.table(
    {
        "household": [17, 18, 19, 20],
        "state": ["GA", "NY", "NY", "NY"],
        "county": ["Fulton", "Kings", "Queens", "Kings"],
    }
)


def find_blocks(section: str, page: Path = PAGE) -> list[tuple[str, str]]:
    """The examples of a section: language and code."""
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```(python|sh)\n(.*?)^```$", found, re.MULTILINE | re.DOTALL)


def run(
    section: str, replace: Callable[[str], str] = lambda text: text, page: Path = PAGE, **before: Any
) -> dict[str, Any]:
    """Run the examples of a section, here; what Python leaves behind, and what there was before."""
    names: dict[str, Any] = {"tt": tt, **before}
    blocks = find_blocks(section, page)
    assert blocks
    for language, code in blocks:
        if language == "python":
            exec(compile(replace(code), section, "exec"), names)
        else:
            done = run_script(replace(code))
            assert done.code == 0, done.err
    return names


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples name, in the folder where they run."""
    monkeypatch.chdir(tmp_path)
    pa_parquet.write_table(PEOPLE, "people.parquet")
    Path("people").mkdir()
    for place in range(2):
        pa_parquet.write_table(PEOPLE.slice(2 * place, 2), f"people/{place}.parquet")
    Path("scratch").mkdir()
    pa_csv.write_csv(HOUSEHOLDS, "households.csv")
    pa_csv.write_csv(HOUSEHOLDS.select(["state", "county"]), "regions.csv")
    pa_csv.write_csv(pa.table({"firm": [1, 2, 3], "state": ["GA", "GA", "NY"]}), "firms.csv")
    firms = pa.table({"firm": [1, 2, 3], "employees": [3, 40, 900]})
    for name, column in (("state", ["GA", "GA", "NY"]), ("county", ["Cobb", "Clarke", "Kings"])):
        firms = firms.append_column(name, pa.array(column))
    pa_parquet.write_table(firms, "register.parquet")
    jobs = {"worker": [1, 1, 1, 2], "firm": [1, 2, 3, 3], "hours": [10, 20, 30, 99]}
    states = pa.array(["GA", "GA", "NY", "NY"])
    pa_parquet.write_table(pa.table(jobs).append_column("state", states), "jobs.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "section",
    [
        "Files",
        "pandas, Polars, Arrow",
        "Anything else: Ibis",
        "What a person may contribute",
        "What must be public",
        "In two steps",
        "When something is wrong",
        "Counts instead of people",
    ],
)
def test_the_examples_run(section: str, folder: Path) -> None:
    names = run(section)
    if "counts" in names:
        assert isinstance(names["counts"], tt.GroupCounts)
    for release in folder.glob("release*"):
        assert tt.load(release).verify().passed


@pytest.mark.xdist_group("postgres")
def test_the_examples_for_postgresql_run(folder: Path, postgres: str) -> None:
    fill(postgres, "people", PEOPLE)
    fill(postgres, "households", HOUSEHOLDS)
    counts = run("PostgreSQL", lambda code: code.replace(URL, postgres))["counts"]
    assert counts.total == 4


@pytest.mark.xdist_group("mariadb")
def test_the_examples_for_other_databases_run(folder: Path, mariadb: str) -> None:
    with closing(connect_mariadb(mariadb)) as connection:
        fill_rows(connection, "people", PEOPLE, mark="%s", quote="`")
    with closing(sqlite3.connect("people.db")) as file:
        fill_rows(file, "people", PEOPLE, mark="?", quote='"')
    run("Other databases", lambda code: code.replace(MYSQL_URL, mariadb))
    for release in folder.glob("release*"):
        assert tt.load(release).verify().passed


@pytest.mark.xdist_group("object_store")
def test_the_examples_for_object_stores_run(
    folder: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in object_store.environment.items():
        monkeypatch.setenv(name, value)
    bucket = object_store.folder / "my-bucket" / "people"
    bucket.mkdir(parents=True)
    pa_parquet.write_table(PEOPLE, bucket / "a.parquet")
    names = run("Object stores")
    assert names["counts"].total == 3


def test_the_examples_for_r_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(shutil.which("Rscript"), "R")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    text = (DOCS / "r.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```r\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    # data.table reads the same file, if it is there.
    check = (
        'if (requireNamespace("data.table", quietly = TRUE) && file.exists("released.csv")) '
        'stopifnot(nrow(data.table::fread("released.csv", na.strings = "")) == nrow(released))\n'
    )
    Path("page.R").write_text("".join([*blocks, check]), encoding="utf-8")
    done = subprocess.run(["Rscript", "--vanilla", "page.R"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "The released counts are epsilon-differentially private" in done.stdout
    assert Path("cobb.pdf").read_bytes().startswith(b"%PDF")
    assert tt.load("release").verify().passed


@pytest.mark.xdist_group("spark")
def test_the_examples_for_spark_run(folder: Path, spark: SparkSession) -> None:
    # The driver does not follow us into the folder.
    names = run("Spark", lambda code: code.replace("people.parquet", str(folder / "people.parquet")))
    assert names["counts"].total == 3


def test_the_examples_for_public_files_run(folder: Path) -> None:
    census.write_csv(folder / "DECENNIALDHC2020.H9-Data.csv", census.make_data_csv("H9_{:03}N"))
    taxi.write_lookup(folder / "taxi_zone_lookup.csv")
    taxi.write_parquet(folder / "fhvhv_tripdata_2024-01.parquet", taxi.make_high_volume(taxi.invent_trips()))
    taxi.write_2013(folder / "trip_data_1.csv", taxi.invent_rides())
    taxi.write_map(folder / "taxi_zones.geojson", taxi.make_map())
    names = run("Public files")
    assert all(names[name].total > 0 for name in ("census", "bases", "taxis"))


def test_the_examples_for_the_ledger_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for section in ("Create", "Budgets that renew", "Release", "Show", "Verify", "Sign it"):
        run(section, page=LEDGER)
    assert capsys.readouterr().out == "3 3/2 3/2\n"
    for release in ("release", "release-2"):
        assert tt.load(folder / release).verify().passed
    words = "tallytree release people.parquet --group household --region state --sizes 1:20 --epsilon 2 "
    done = run_script(f"{words} --ledger ledger.db --out release-9")
    assert done.code == 3
    assert f"    {done.err}" in LEDGER.read_text(encoding="utf-8")  # word for word


@pytest.mark.xdist_group("postgres")
def test_the_examples_for_a_ledger_on_a_server_run(folder: Path, postgres: str) -> None:
    place = make_schema(postgres)
    run("PostgreSQL", lambda code: code.replace(LEDGER_URL, place), LEDGER)
    assert tt.Ledger(place).balance().spent == 1


@pytest.mark.usefixtures("folder")
def test_gaussian_noise(capsys: pytest.CaptureFixture[str]) -> None:
    names = run("How", page=GAUSSIAN)
    assert tt.load("release-gaussian").verify()
    assert names["release"].manifest["privacy"]["epsilon"] == "1"
    names = run("What is promised", page=GAUSSIAN, **names)
    run("When it pays", page=GAUSSIAN, **names)
    epsilon, geometric, gaussian = capsys.readouterr().out.splitlines()
    assert 0 < float(Fraction(epsilon)) < 1
    # As the page says: with such quantities, Gaussian noise is smaller.
    assert max(json.loads(gaussian)) < 1.41 * min(json.loads(geometric))
    run("In a ledger", page=GAUSSIAN)
    assert tt.Ledger("gaussian.db").balance().unit == "rho"


def test_the_examples_for_the_report_run(folder: Path) -> None:
    release = tt.release(
        tt.count_groups("people.parquet", group="household", regions=["state", "county"], sizes=(1, 5)),
        epsilon="1",
    )
    release.save("release", replicates=0)
    square = [[0, 40], [1, 40], [1, 41], [0, 41]]
    shape = {"properties": {"NAME": "Fulton"}, "geometry": {"type": "Polygon", "coordinates": [square]}}
    Path("counties.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [shape]}))
    for section in ("How to make it", "A map"):
        run(section, page=REPORT)
    assert '"map":{"level":2' in Path("release", "report.html").read_text(encoding="utf-8")


def test_the_examples_for_reading_a_release_run(folder: Path) -> None:
    counts = tt.count_groups(
        "people.parquet",
        group="household",
        regions=["state", "county"],
        sizes=(1, 5),
        root="US",
        root_level="nation",
    )
    for name in ("release", "release-2020", "release-2021"):
        tt.release(counts, epsilon="1").save(name, replicates=0)
    pa_csv.write_csv(pa.table({"state": ["GA", "NY"], "size": [2, 1], "groups": [1, 2]}), "published.csv")
    run("What verify can know", page=READING)
    names = run("As a table", page=READING)
    names = run("One region", page=READING, **names)
    assert names["region"].path == ("US", "GA")
    run("As a picture", page=READING, **names)
    assert Path("georgia.png").read_bytes().startswith(b"\x89PNG")
    names = run("Side by side", page=READING)
    assert [level.level for level in names["comparison"].levels] == ["nation", "state", "county"]


def test_the_examples_for_intervals_run(folder: Path) -> None:
    counts = tt.count_groups(PEOPLE, group="household", regions=["state", "county"], sizes=(1, 6))
    tt.release(counts, epsilon="1").save("release", replicates=0)
    names = run("Intervals next to every number", page=INTERVALS)
    assert names["release"].intervals.replicates == 10
    run("Estimates without bias", page=INTERVALS)
    assert Path("unbiased.parquet").exists()


@pytest.mark.parametrize("section", ["In Python", "On the command line"])
def test_the_examples_of_the_readme_run(section: str, folder: Path) -> None:
    ((_, code),) = find_blocks(section, README)
    assert len([line for line in code.splitlines() if line]) <= 5  # to be taken in at a glance
    run(section, page=README)
    assert tt.load(folder / "release").verify()


def test_the_commands_of_the_readme_are_there() -> None:
    text, makefile = README.read_text(encoding="utf-8"), (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"[`\n]make ([a-z-]+)", text))
    assert {"demo", "test", "picture", "readme", "bench"} <= targets
    assert targets <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_the_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_table_of_the_readme_is_that_of_the_pages() -> None:
    """If not, one of them was measured again: `make readme` takes the numbers over."""
    text = README.read_text(encoding="utf-8")
    assert insert_table(text) == text
    assert insert_table(text.replace("| **1,065** |", "| 1 |")) == text  # it would be noticed


def test_the_results_of_the_reproduction_are_those_on_its_page() -> None:
    folder = ROOT / "docs" / "reproduction"
    page = (folder / "page.md").read_text(encoding="utf-8")
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    rows = [row for part in results.values() for row in part if "runs" in row]
    # Cost tables find the same counts as our own solvers, so the page has their times alone.
    rows = [row for row in rows if "(tables" not in row["mechanism"]]
    assert len(rows) > 50
    for row in rows:
        for mean, off in (*row["L1, thousands"].values(), *row["EMD"].values()):
            assert with_deviation(Spread(mean, off, row["runs"])) in page, row
