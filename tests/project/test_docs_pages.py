"""Every page of docs/: its examples run, what it says of the code is so, what is made from it current."""

from __future__ import annotations

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from scripts.docs.__main__ import write_pages
from scripts.docs.mechanism_facts import SENSITIVITIES, list_pages

import tallytree as tt
from tallytree.mechanisms import registry
from tallytree.privacy.neighbours import Bounds, Neighbours
from tallytree.privacy.queries import QUERIES
from tallytree.publishing import pipeline
from tests.mechanisms import test_conformance as conformance
from tests.project.documents import (
    DOCS,
    ROOT,
    RUN,
    SHOWN,
    find_examples,
    find_examples_before,
    find_languages,
    run_examples,
    write_outputs,
)

PAGES = sorted(DOCS.rglob("*.md"))
NAMED = (ROOT / "tests" / "project" / "test_docs.py").read_text(encoding="utf-8")
BY_SECTION = {page.name for page in PAGES if f'"{page.name}"' in NAMED}
"""Run section by section in ``test_docs.py``, where some need a server."""

MINUTES = ("tallytree reproduce", "tallytree audit --all")
"""What takes minutes is only parsed here; ``test_reproduction_*`` and ``test_auditing`` run it on little."""

WITH_EXAMPLES = [page for page in PAGES if find_examples(page) and page.name not in BY_SECTION]


def name_page(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples run, with the files that they name and do not write themselves."""
    monkeypatch.chdir(tmp_path)
    levels = ["state", "county", "tract", "block_group", "block"]
    blocks = {name: [f"{name} {number // 2}" for number in range(4)] for name in levels}
    blocks["block"] = [f"block {number}" for number in range(4)]
    pa_parquet.write_table(
        pa.table({**blocks, "size": [1, 2, 1, 3], "groups": [5, 6, 7, 8]}), "blocks.parquet"
    )
    Path("counts.csv").write_text("state,county,size,groups\nGA,Cobb,1,50\nGA,Clarke,2,70\n")
    return tmp_path


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_page)
def test_the_examples_run_and_print_what_the_page_says(page: Path, folder: Path) -> None:
    run_examples(find_examples_before(page))
    run_examples(find_examples(page), shorten)
    for release in folder.glob("release*/manifest.json"):
        assert tt.load(release.parent).verify().passed


def shorten(code: str) -> str:
    """Fewer attacks, in which an exit code of 1 is what the page says; what takes minutes is parsed only."""
    lines = []
    for line in code.splitlines():
        command = line.partition("  #")[0].rstrip()
        if command.startswith(MINUTES):
            lines.append(f"{command} --help")
        elif command.startswith("tallytree audit"):
            wanted = 1 if "exit code 1" in line else 0
            lines.append(f"code=0; {command} --runs 100 || code=$?; test $code = {wanted}")
        else:
            lines.append(line)
    return "\n".join(lines)


def test_no_example_is_left_out() -> None:
    assert {"gaussian.md", "ledger.md", "report.md", "your-data.md"} <= BY_SECTION
    for page in PAGES:
        assert find_languages(page) <= RUN | SHOWN, page
        if page.name in BY_SECTION:
            for example in find_examples(page):
                assert f'"{example.section}"' in NAMED, example.place


def test_an_output_that_is_not_so_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("## A\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n")
    (example,) = find_examples(page)
    assert (example.section, example.language, example.output) == ("A", "python", "2\n")
    with pytest.raises(AssertionError, match="prints"):
        run_examples([example])
    write_outputs(page)
    assert page.read_text().endswith("```text\n1\n```\n")
    run_examples(find_examples(page))
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError):
        run_examples(find_examples(page))


def test_pages_that_are_made_from_the_code_are_current() -> None:
    pages = write_pages()
    assert {"api.md", "command-line.md", "architecture.svg", "mechanisms/direct-dp.md"} <= pages.keys()
    for name, text in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: python -m scripts.docs"
    for name in tt.__all__:
        assert name == "__version__" or f"### `{name}`\n" in pages["api.md"], name


def test_every_mechanism_has_a_page_with_the_facts_of_its_class() -> None:
    pages = list_pages()
    assert {page.stem for page, _ in pages} == {*tt.list_mechanisms(), "index"}
    assert {page for page, _ in pages} == set((DOCS / "mechanisms").glob("*.md"))
    for page, kinds in pages:
        text = page.read_text(encoding="utf-8")
        if len(kinds) == 1:
            sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
            assert sections == [
                "Privacy", "Model", "Algorithm", "Cost", "When to use it", "What must be true", "Example",
            ]  # fmt: skip
            assert find_examples(page)


@pytest.mark.parametrize(("m", "z", "k", "regions"), [(1, 1, 2, 1), (2, 3, 20, 5), (3, 50, 4, 5)])
def test_the_sensitivities_on_the_pages_are_those_of_the_queries(
    m: int, z: int, k: int, regions: int
) -> None:
    reach = min(z, k - 1)
    values = {
        "2m": 2 * m,
        "m min(z, K - 1)": m * reach,
        "m min(z, K - 1) times the regions of the level": m * reach * regions,
    }
    assert SENSITIVITIES.keys() < QUERIES.keys()
    for name, query in QUERIES.items():
        persons = Neighbours(bounds=Bounds(max_records=m, max_quantity=z))
        if name in SENSITIVITIES:
            assert query.sensitivity(persons, (1, k), regions) == values[SENSITIVITIES[name]]


def test_the_tests_that_pages_name_exist() -> None:
    named = 0
    for page in PAGES:
        for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not test or re.search(rf"^def {test}\(", text, re.MULTILINE), f"{page}: {file}::{test}"
            named += 1
    assert named > 50


def test_every_name_in_the_notation_table_exists() -> None:
    rows = re.findall(
        r"^\|.*\| `([\w.]+)` \| `([\w.]+)` \|$",
        (DOCS / "notation.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(rows) > 30
    for name, module in rows:
        found: Any = import_module(module)
        for part in name.split("."):
            fields = (
                [field.name for field in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else []
            )
            assert part in fields or hasattr(found, part), f"{module} has no {name}"
            found = getattr(found, part, None)


def test_the_mechanism_of_the_example_conforms(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "adding-a-mechanism.md"
    kind = run_examples(find_examples(page))["BottomUp"]
    for module in (registry, pipeline):
        monkeypatch.setattr(module, "MECHANISMS", (*registry.MECHANISMS, kind))
    conformance.test_a_mechanism_describes_itself(kind)
    for seed in range(20):
        counts = conformance.make_counts(seed, 1 + seed % 4, (0, seed % 5), (0, 3, 10**6)[seed % 3])
        conformance.assert_conditions(kind.name, seed, counts, ("0.01", "1", "20")[seed % 3])
    conformance.test_without_noise_the_truth_comes_back(kind)
    conformance.test_the_plan_covers_every_neighbour(kind.name)
    conformance.test_post_processing_changes_nothing_that_it_is_given(kind.name)
    conformance.test_a_release_is_made_and_verified_or_refused(kind.name)


INSTALLING = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("examples/*"), *ROOT.glob("src/**/*.py")]


def test_nothing_that_is_said_replaces_the_editable_install_of_make() -> None:
    """Without -e, pip puts a copy in its place: nothing that is edited after that works."""
    for page in INSTALLING:
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        assert not re.findall(r"pip install [^-\n]*\.\[", text), page
        for found in re.finditer(r"pip install \.", text):
            around = " ".join(text[max(0, found.start() - 100) : found.end() + 100].split())
            assert "environment of your own" in around, page


def test_public_functions_show_how_they_are_called() -> None:
    public = {name: getattr(tt, name) for name in tt.__all__}
    functions = {name: what for name, what in public.items() if inspect.isfunction(what)}
    assert len(functions) >= 10
    assert [name for name, what in functions.items() if ">>>" not in (what.__doc__ or "")] == []
