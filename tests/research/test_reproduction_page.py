"""The whole of ``tallytree reproduce``: its page, its files, its errors."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tallytree.drawing.pictures import draw_png
from tallytree.errors import CountsError, FolderError, InputError
from tallytree.research.reproduction import measuring, reproduction_page, study_data
from tallytree.research.reproduction.document import (
    Block,
    Claim,
    Figure,
    Heading,
    Items,
    Note,
    Paragraph,
    Table,
    with_deviation,
)
from tallytree.research.reproduction.paper_figures import Variant, list_contenders
from tallytree.research.reproduction.rendering import write_html, write_markdown
from tallytree.research.reproduction.reproduction_page import choose_settings, write_page
from tallytree.research.reproduction.run_results import Spread
from tallytree.research.reproduction.runs import FULL, QUICK, Failure, Job, Run, Source, run_jobs
from tallytree.research.reproduction.study import Study, make_report, measure_study
from tallytree.research.reproduction.study_data import COUNTY_FILE, KUO_FILE, load_datasets
from tests.datasets.test_datasets_census import invent_table
from tests.datasets.test_datasets_kuo import invent_taxis
from tests.research.reproduction_support import SETTINGS, HereAndNow, make_datasets

pytestmark = pytest.mark.xdist_group("study")  # which takes long, and is made once

SLOW = ("direct-qip", "cumulative-qip", "direct-cp")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All mechanisms on small data, in this process; those that take long fail at once."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "results").mkdir()

    def run(jobs: Sequence[Job], source: Source, calls: int) -> Iterator[Run | Failure | None]:
        for job in jobs:
            if job.variant.mechanism in SLOW:
                yield None
                yield Failure("no answer within 5 s", timed_out=True)
                return
            yield from run_jobs([job], source, calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "Child", HereAndNow)
        patch.setattr(measuring, "run_jobs", run)
        return measure_study("all", make_datasets(), SETTINGS, folder, lambda text, done, total: None)


def make_page(study: Study, part: str = "all") -> list[Block]:
    report = make_report(study, part, machine={"Processor": "any"}, command="tallytree reproduce", quick=True)
    return list(write_page(report))


class Checker(HTMLParser):
    """Every element is closed, in order."""

    void = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if name := found.get("id"):
            self.ids.append(name)
        if link := found.get("href"):
            self.links.append(link)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return None

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_html(page: str) -> None:
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    assert all(link.startswith("#") for link in checker.links)
    assert "src=" not in page and "@import" not in page  # nothing is loaded


def test_the_page_has_every_mechanism_and_no_hole(study: Study) -> None:
    blocks = make_page(study)
    html, text = write_html(blocks), write_markdown(blocks, "figures")
    check_html(html)
    for variant in list_contenders():
        assert f"`{variant.label}`" in text
        assert f"<code>{variant.label}</code>" in html
    for word in ("nan", "inf", "None", "Traceback"):
        assert f" {word} " not in text and f" {word}." not in text and f"| {word}" not in text
    assert "**3.0**" in text  # the published chain's true epsilon on nine regions in three levels
    assert "**90.0**" in text  # and on the city
    assert "true epsilon" in text
    for name in ("Census", "Taxi", "Kuo's taxis"):
        assert f"## {name} in detail" in text
    assert "Beside Kuo et al." in text
    assert "takes each region's number of groups as public" in text
    assert "`cumulative-joint` against `cumulative-dp`" in text
    assert "not explained" not in text.split("Why some stand")[0]
    assert "tallytree reproduce" in text


def test_the_papers_figures_stand_beside_ours(study: Study) -> None:
    blocks = make_page(study)
    tables = [block for block in blocks if isinstance(block, Table) and "true epsilon" in block.header]
    census, taxi = [table for table in tables if "violations" in table.header and "paper" in table.header]
    (line,) = [row for row in census.rows if row[:2] == ["0.1", "`direct-dp`"]]
    assert line[2] == "M_H^dp"
    assert [line[place] for place in (6, 8, 10, 12)] == ["10.3", "38.4", "825.4", "0"]
    (line,) = [row for row in taxi.rows if row[:2] == ["1", "`cumulative-chain (published)`"]]
    assert [line[place] for place in (6, 8, 10)] == ["5", "45", "786"]
    for table in tables:
        assert all(len(row) == len(table.header) for row in table.rows)


def test_every_table_is_whole_and_every_picture_is_drawn(study: Study) -> None:
    blocks = make_page(study)
    for block in blocks:
        if isinstance(block, Table):
            assert block.rows
            assert {len(row) for row in block.rows} == {len(block.header)}
    figures = [block for block in blocks if isinstance(block, Figure)]
    names = [figure.name for figure in figures]
    assert names == ["scalability", "runtime", "l1", "levels-census", "levels-taxi", "levels-kuo"]
    for figure in figures:
        picture = ElementTree.fromstring(figure.svg)
        assert "nan" not in figure.svg
        texts = {element.text or "" for element in picture.iter() if element.tag.endswith("text")}
        if figure.name == "scalability":
            assert "direct-qip, none at 2" in texts
        else:
            assert {"direct-dp", "count-of-counts ¹", "cumulative-chain (published) †"} <= texts


@pytest.mark.parametrize(
    ("part", "has", "lacks"),
    [
        ("runtime", "Runtime by mechanism", "The table: L1"),
        ("accuracy", "in detail", "Runtime by mechanism"),
        ("table", "The table: L1", "in detail"),
    ],
)
def test_a_part_has_its_own_sections(part: str, has: str, lacks: str, study: Study) -> None:
    headings = [block.text for block in make_page(study, part) if isinstance(block, Heading)]
    assert any(has in text for text in headings)
    assert not any(lacks in text for text in headings)


def test_a_study_of_time_alone_has_its_page(study: Study) -> None:
    alone = Study(study.settings, study.datasets, study.synthetic, {})
    blocks = make_page(alone, "scalability")
    check_html(write_html(blocks))
    assert [block.name for block in blocks if isinstance(block, Figure)] == ["scalability"]


def test_invented_data_are_called_so(study: Study) -> None:
    taxi = [dataset for dataset in study.datasets if dataset.invented]
    alone = Study(study.settings, taxi, [], {"taxi": study.runs["taxi"]})
    notes = [block.text for block in make_page(alone) if isinstance(block, Note)]
    assert any("all data are invented" in text for text in notes)
    notes = [block.text for block in make_page(study) if isinstance(block, Note)]
    assert not any("all data are invented" in text for text in notes)


def test_text_is_text() -> None:
    blocks: list[Block] = [
        Heading(1, "A < B & `C`"),
        Paragraph("`taxi/*.csv` and `other/*.csv`, *set apart*, **bold**, M_c^ch and <script>"),
        Items(["one", "two"]),
        Table(["a", "paper"], [["x", "1"]]),
    ]
    page = write_html(blocks)
    check_html(page)
    assert "<code>taxi/*.csv</code> and <code>other/*.csv</code>, <em>set apart</em>" in page
    assert "<i>M</i><sub>c</sub><sup>ch</sup>" in page
    assert "<script>" not in page
    assert '<td class="n p">1</td>' in page


def test_a_hostile_name_stays_text() -> None:
    names = (
        "<img onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "![b](//elsewhere/b.png)",
        "<https://elsewhere>",
        "one ` tick",
        "2 * 3 * 4 in a_b_c",
        "`</code><script>`",
        "&lt;script>",
    )
    for name in names:
        page = write_html([Heading(1, "Title"), Paragraph(name), Table([name], [[name]])])
        check_html(page)
        assert not re.search("<(img|a|script)[ >]", page.partition("</nav>")[2])
        shown = re.sub("<[^>]+>", "", page.partition("</nav>")[2])
        assert unescape(shown).split("\n")[1] == name.replace("`", "" if name.count("`") == 2 else "`")


def test_pictures_become_png(study: Study) -> None:
    pytest.importorskip("resvg_py")
    figure = next(block for block in make_page(study) if isinstance(block, Figure))
    image = draw_png(figure.svg)
    assert image and image.startswith(b"\x89PNG")


# The data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    invent_table().to_csv(tmp_path / COUNTY_FILE, index=False)
    (tmp_path / KUO_FILE).parent.mkdir()
    invent_taxis().to_csv(tmp_path / KUO_FILE, index=False)
    return tmp_path


def test_real_and_invented_data_are_loaded(folder: Path) -> None:
    assert [(each.name, each.invented) for each in load_datasets(folder)] == [
        ("census", False), ("taxi", True), ("kuo", False),
    ]  # fmt: skip
    invented = load_datasets(None)
    assert [(each.name, each.invented) for each in invented] == [("census", True), ("taxi", True)]
    taxi = invented[1]
    assert taxi.sizes == taxi.facts.groups == 13_282
    assert taxi.facts.regions == (1, 6, 263)
    assert taxi.facts.most_l1 == 26_564
    assert taxi.facts.chain_factor == 90


def test_trip_records_take_the_place_of_the_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / KUO_FILE).unlink()
    with pytest.raises(CountsError, match="no table of taxis"):
        load_datasets(folder)
    (folder / "taxi" / "fhv_tripdata_2024-01.parquet").write_bytes(b"")
    counts = load_datasets(None)[1].counts
    monkeypatch.setattr(study_data, "count_trips", lambda trips, zones: counts)
    assert load_datasets(folder)[-1].name == "tlc"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / COUNTY_FILE).unlink(), "There is no file"),
        (
            lambda folder: (folder / COUNTY_FILE).write_text("a,b\n1,2\n"),
            "csv: The table has none of",
        ),
        (lambda folder: (folder / KUO_FILE).write_text("a,b\n1,2\n"), "csv.gz: .* cannot be read as a table"),
        (lambda folder: (folder / KUO_FILE).write_bytes(b""), "csv.gz: "),
    ],
)
def test_bad_files_give_one_clear_error(damage: object, message: str, folder: Path) -> None:
    assert callable(damage)
    damage(folder)
    with pytest.raises(InputError, match=message):
        load_datasets(folder)


# The command


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tallytree", "reproduce", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "There is no part 'everything'"),
        (["--instances", "0"], "at least 1, not 0"),
        (["--instances", "-3"], "at least 1, not -3"),
        (["--timeout", "0"], "positive number of seconds"),
        (["--data", "nowhere"], "There is no folder 'nowhere'"),
        (["--data", "."], "There is no file"),
        (["--out", "/dev/null/place"], "cannot be written"),
    ],
)
def test_bad_input_gives_one_message(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_damaged_results_stop_before_anything_is_measured(tmp_path: Path) -> None:
    place = tmp_path / "out" / "results"
    place.mkdir(parents=True)
    for dataset in load_datasets(None):
        (place / f"{dataset.key}.parquet").write_bytes(b"nothing")
    done = run("table", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "are damaged: remove the file" in done.stderr


def test_an_interruption_keeps_what_was_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tallytree", "reproduce", "scalability", "--quick", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as work:
        assert work.stderr
        assert "synthetic: cumulative-joint" in work.stderr.readline()
        (results,) = wait_for(work, tmp_path / "out" / "results")
        os.killpg(work.pid, signal.SIGINT)  # as a terminal does it
        message = work.stderr.read()
    assert work.returncode == 130
    assert message.endswith("Error: Interrupted; nothing half-written was left behind.\n")
    assert results.name.startswith("synthetic-")
    assert not (tmp_path / "out" / "page.html").exists()
    assert not list(tmp_path.rglob(".*"))


def wait_for(work: subprocess.Popen[str], folder: Path) -> list[Path]:
    """The first results, however long they take: kernels may have to be compiled, on a busy machine."""
    while work.poll() is None:
        if files := [path for path in folder.glob("*.parquet") if not path.name.startswith(".")]:
            return files
        os.sched_yield()
    raise AssertionError("nothing was measured")


def test_the_help_says_that_data_must_be_public(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    assert done.returncode == 0
    text = " ".join(done.stdout.replace("│", " ").split())
    assert "never give sensitive data" in text
    assert "public data only" in text


def test_settings_are_checked_and_chosen() -> None:
    assert choose_settings(quick=False, instances=None, timeout=None) == FULL
    assert choose_settings(quick=True, instances=7, timeout=None).instances == 7
    assert choose_settings(quick=True, instances=None, timeout=9.0) == QUICK.wait(9.0)


def test_all_is_written(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction_page, "measure_study", lambda *arguments: study)
    monkeypatch.setattr(reproduction_page, "load_datasets", lambda data: study.datasets)
    made = reproduction_page.reproduce(
        "all", data=None, settings=SETTINGS, quick=True, out=tmp_path / "new" / "place",
        command="tallytree reproduce", tell=lambda text, done, total: None,
    )  # fmt: skip
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "figures", "page.html", "page.md", "results", "results.json",
    ]  # fmt: skip
    assert len(list((made.folder / "figures").glob("*.svg"))) == 6
    text = (made.folder / "page.md").read_text(encoding="utf-8")
    assert "](figures/scalability.svg)" in text
    results = json.loads((made.folder / "results.json").read_text(encoding="utf-8"))
    assert list(results) == [dataset.name for dataset in study.datasets]
    for row in (row for rows in results.values() for row in rows if "runs" in row):
        shown = [Spread(mean, off, row["runs"]) for mean, off in row["L1, thousands"].values()]
        assert "(" in row["mechanism"] or all(with_deviation(each) in text for each in shown)
    assert any("given up after s" in row for row in results["census"])
    assert any(isinstance(block, Claim) for block in made.blocks)
    (made.folder / "page.html").unlink()
    (made.folder / "page.html").mkdir()
    with pytest.raises(FolderError, match="cannot be written"):
        reproduction_page.reproduce(
            "all", data=None, settings=SETTINGS, quick=True, out=made.folder,
            command="", tell=lambda text, done, total: None,
        )  # fmt: skip


def test_a_variant_knows_what_it_is() -> None:
    assert Variant("direct-qip").is_small and Variant("direct-qip").needs_solver
    assert Variant("direct-dp", {"solver": "tables"}).is_small
    assert not Variant("cumulative-joint").is_small
