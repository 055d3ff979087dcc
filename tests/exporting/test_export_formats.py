"""Data packages, CSV on the Web, SDMX and registry entries, read by the libraries of the formats."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
import yaml
from csvw import CSVW
from frictionless import Package, Resource, system
from frictionless.resources import TableResource
from hypothesis import given
from hypothesis import strategies as st
from pysdmx.io import get_datasets, read_sdmx

import tallytree as tt
from tallytree.exporting.registry_entry import MARK
from tallytree.exporting.sdmx import AGENCY, make_region_codes
from tallytree.files import hash_file
from tallytree.releases import release_columns
from tallytree.releases.release_columns import Column
from tests.exporting.export_support import (
    LEVELS,
    PATHS,
    WORDS,
    list_cells,
    list_rows,
    make_release,
    strip_guard,
)

kinds = pytest.mark.parametrize(
    ("classes", "intervals"), [(False, True), (True, False)], ids=["intervals", "classes"]
)


def find_rows(release: tt.Release, read: Iterator[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows that a library read, as ``list_rows`` lists them."""
    label = "size_label" if isinstance(release.sizes, tt.SizeClasses) else "size"
    ends = ("groups_low", "groups_high") if release.intervals else ("groups", "groups")
    return [
        (
            *(strip_guard(row[name]) for name in list(row)[:4]),
            str(row[label]),
            *(row[name] for name in ("groups", *ends)),
        )
        for row in read
    ]


def read_table(resource: Resource) -> list[dict[str, Any]]:
    assert isinstance(resource, TableResource)
    return [row.to_dict() for row in resource.read_rows()]


@kinds
@pytest.mark.parametrize("name", ["package", "package.zip"])
def test_a_data_package_is_valid_and_whole(classes: bool, intervals: bool, name: str, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    release.save(tmp_path / "release", replicates=0)
    done = tt.export(tmp_path / "release", "datapackage", tmp_path / name)
    where = tmp_path / name if name.endswith(".zip") else tmp_path / name / "datapackage.json"
    with system.use_context(trusted=True):
        package = Package(str(where))
        report = package.validate()
        assert report.valid, report.flatten(["type", "note"])  # sizes and SHA-256 of the files included
        counts, regions = (read_table(resource) for resource in package.resources)
    assert find_rows(release, iter(counts)) == list_rows(release)
    assert len(regions) == release.hierarchy.region_count
    assert done.count == len(counts) + len(regions)
    described = package.to_dict()
    assert described["title"] == WORDS.title
    assert described["privacy"] == release.manifest["privacy"]
    assert hash_file(tmp_path / "release" / "manifest.json") in described["sources"][0]["title"]
    assert "licenses" not in described  # for the publisher to choose
    assert all(field["description"] for field in described["resources"][0]["schema"]["fields"])


def test_a_changed_data_package_is_found(tmp_path: Path) -> None:
    tt.export(make_release(classes=True, intervals=False), "datapackage", tmp_path / "package")
    path = tmp_path / "package" / "counts.csv"
    path.write_text(path.read_text().replace("1-4", "1-5"))
    with system.use_context(trusted=True):
        assert not Package(str(tmp_path / "package" / "datapackage.json")).validate().valid


@kinds
def test_csv_on_the_web_is_valid_and_whole(classes: bool, intervals: bool, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    tt.export(release, "csvw", tmp_path / "web")
    read = CSVW(str(tmp_path / "web" / "csv-metadata.json"), validate=True)
    assert read.is_valid and not read.warnings
    counts, regions = read.tables
    assert find_rows(release, iter(counts)) == list_rows(release)
    assert len(list(regions)) == release.hierarchy.region_count
    assert read.common_props["dc:title"] == WORDS.title
    names = [column.name for column in counts.tableSchema.columns]
    assert names[:3] == ["nation", "%3Dstate", "5%2D9"]


@kinds
def test_sdmx_is_valid_and_whole(classes: bool, intervals: bool, tmp_path: Path) -> None:
    release = make_release(classes=classes, intervals=intervals)
    done = tt.export(release, "sdmx-csv", tmp_path / "sdmx")
    data, structure = (tmp_path / "sdmx" / name for name in ("data.csv", "structure.xml"))
    message = read_sdmx(structure, validate=True)  # against the XML Schema of SDMX-ML 3.0
    regions, sizes = message.get_codelists()
    (dataset,) = get_datasets(data, structure, validate=True)
    rows = dataset.data.to_dict("records")
    assert len(rows) == done.count == len(list_rows(release))
    found = {(row["REGION"], row["SIZE"]): row for row in rows}
    codes = make_region_codes(release.hierarchy)
    size_codes = {code.name: code.id for code in sizes}
    for path, size, groups, low, high in list_cells(release):
        level, region = release.hierarchy.find(path)
        row = found.get((codes[level][region].as_py(), size_codes[size]))
        assert (0 if row is None else int(row["OBS_VALUE"])) == groups
        if intervals and row is not None:
            assert (int(row["OBS_LOW"]), int(row["OBS_HIGH"])) == (low, high)
    listed = {code.id: code for code in regions}
    for level in range(len(LEVELS)):
        for region, path in enumerate(release.hierarchy.regions(level)):
            code = listed[codes[level][region].as_py()]
            assert (
                str(code.name).strip() == re.sub("[\x00-\x08\x0b-\x0c\x0e-\x1f]", "\ufffd", path[-1]).strip()
            )
    ids = {component.id for component in message.get_data_structure_definitions()[0].components}
    assert ids == set(rows[0])
    assert {part.agency for part in (regions, sizes)} == {AGENCY}
    if classes:
        assert set(size_codes.values()) == {"1-4", "5-49", "GE50"}


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4).filter(str.strip)
paths = st.lists(st.tuples(names, names), min_size=1, max_size=8, unique=True)


@given(paths)
def test_codes_of_regions_are_valid_and_different(made: list[tuple[str, str]]) -> None:
    hierarchy = tt.Hierarchy.from_paths(["nation", "a", "b"], [("US", *path) for path in made])
    codes = [code for level in make_region_codes(hierarchy) for code in map(str, level.to_pylist())]
    assert len(set(codes)) == len(codes) == hierarchy.region_count
    assert all(re.fullmatch("[A-Za-z0-9_@$-]+", code) for code in codes)


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ([("GA", "Fulton"), ("NY", "St. John's")], [["US"], ["GA", "NY"], ["GA_FULTON", "NY_ST_JOHN_S"]]),
        ([("Île", "Évry"), ("13", "121")], [["US"], ["ILE", "13"], ["ILE_EVRY", "13_121"]]),
        ([("A", "B C"), ("A B", "C")], [["L1_1"], ["L2_1", "L2_2"], ["L3_1", "L3_2"]]),
        ([("A", "東京")], [["L1_1"], ["L2_1"], ["L3_1"]]),
    ],
)
def test_codes_are_made_of_names_where_they_differ(
    leaves: list[tuple[str, str]], expected: list[list[str]]
) -> None:
    hierarchy = tt.Hierarchy.from_paths(["nation", "a", "b"], [("US", *leaf) for leaf in leaves])
    assert [level.to_pylist() for level in make_region_codes(hierarchy)] == expected


# The registry's schema (as of autumn 2026) in our own words: what must be there, and which values it allows.

TEXTS = {
    "url_slug", "deployment.basic.name", "deployment.basic.description", "deployment.basic.intended_use",
    "deployment.basic.data_product_region",
}  # fmt: skip
CHOICES: dict[str, set[Any]] = {
    "deployment.basic.data_curators.0.data_curator_type": {"Government", "Industry", "Nonprofit"},
    "deployment.basic.data_product_type": {
        "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API",
        "SQL queries",
    },
    "deployment.basic.data_product_sector": {
        "Technology", "Healthcare", "Education", "Government", "Energy", "Finance",
    },
    "deployment.dp_variant.variant_name": {
        "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom",
    },
    "deployment.deployment_model.model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
    "deployment.deployment_model.release_type": {"One release", "Many releases"},
    "deployment.deployment_model.data_source_type": {"Static", "Dynamic"},
    "deployment.deployment_model.access_type": {"Interactive", "Non-interactive"},
    "deployment.administrative.status": {
        "Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
        "Approved (Pending)",
    },
    "deployment.administrative.tier": {1, 2, 3},
    "deployment.administrative.evidence_sources.release.evidence_source_type": {
        "Peer-reviewed publication", "Formal publication by the deploying organization",
        "Authorized organizational attestation", "Other public source",
    },
}  # fmt: skip
PARTS = {
    "": {"url_slug", "deployment"},
    "deployment": {
        "basic", "dp_variant", "privacy_loss", "deployment_model", "implementation", "administrative",
    },
    "deployment.basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "data_product_sector", "publication_date",
    },
    "deployment.dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "deployment.privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment.privacy_loss.privacy_parameters": {"epsilon", "delta", "rho"},
    "deployment.deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
        "release_type_details", "data_source_type", "data_source_type_details", "access_type",
        "access_type_details",
    },
    "deployment.implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
        "justification", "utility", "additional_information",
    },
    "deployment.administrative": {"evidence_sources", "status", "registry_authors", "tier"},
    "deployment.administrative.evidence_sources.release": {"evidence_source_type", "misc"},
    "deployment.administrative.evidence_sources.release.misc": {"title", "year", "url", "note"},
}  # fmt: skip
"""The parts of an entry, and the only keys that they may have."""


def walk(part: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    yield place, part
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        yield from walk(value, f"{place}.{key}".strip("."))


def find_faults(entry: dict[str, Any]) -> set[str]:
    """The places at which the registry would refuse an entry."""
    found = dict(walk(entry))
    faults = {place for place, allowed in PARTS.items() if place in found and set(found[place]) - allowed}
    faults |= {place for place in TEXTS if not isinstance(found.get(place), str)}
    faults |= {place for place, allowed in CHOICES.items() if found.get(place) not in allowed}
    for author in ("deployment.administrative.registry_authors.0", "deployment.basic.data_curators.0"):
        faults |= {author} - found.keys()
    for place, value in found.items():
        if place.startswith("deployment.privacy_loss.privacy_parameters.") and not isinstance(value, float):
            faults.add(place)
    try:
        datetime.date.fromisoformat(found["deployment.basic.publication_date"])
    except (TypeError, ValueError):
        faults.add("deployment.basic.publication_date")
    return faults


def fill_in(value: Any, place: str = "") -> Any:
    """The entry after a curator has filled in what is marked."""
    if isinstance(value, dict):
        return {key: fill_in(part, f"{place}.{key}".strip(".")) for key, part in value.items()}
    if isinstance(value, list):
        return [fill_in(part, f"{place}.{number}") for number, part in enumerate(value)]
    if not isinstance(value, str) or MARK not in value:
        return value
    return sorted(CHOICES[place])[0] if place in CHOICES else re.sub(f"{MARK}.*", "something", value)


ENTRIES: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": "1/3"},
    "gaussian": {"epsilon": None, "rho": "1/10", "delta": "1e-10"},
    "group": {"total": "private", "protect": "group", "words": tt.Words(group="Foyer \U0001f3e0")},
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_registry_entry_fits_the_schema_once_it_is_filled_in(kind: str, tmp_path: Path) -> None:
    release = make_release(classes=True, intervals=kind == "pure", **ENTRIES[kind])
    release.save(tmp_path / "release", replicates=0)
    done = tt.export(tmp_path / "release", "registry", tmp_path / "entry.yaml")
    text = (tmp_path / "entry.yaml").read_text(encoding="utf-8")
    entry = yaml.safe_load(text)
    marked = {place for place, value in walk(entry) if isinstance(value, str) and MARK in value}
    assert done.count == len(marked)
    faults = find_faults(entry)
    assert faults and faults <= marked  # nobody can submit it as it is
    assert not find_faults(fill_in(entry))
    for token in yaml.scan(text):  # the registry wants quotes, or lines of their own
        assert getattr(token, "style", None) in (None, "|", '"')


def test_a_registry_entry_says_what_the_manifest_says(tmp_path: Path) -> None:
    release = make_release(classes=True, intervals=False, **ENTRIES["gaussian"])
    release.save(tmp_path / "release", replicates=0)
    tt.export(tmp_path / "release", "registry", tmp_path / "entry.yaml")
    found = dict(walk(yaml.safe_load((tmp_path / "entry.yaml").read_text(encoding="utf-8"))))
    privacy = release.manifest["privacy"]
    assert found["deployment.basic.name"] == WORDS.title
    assert found["deployment.dp_variant.variant_name"] == "Zero-concentrated DP"
    parameters = found["deployment.privacy_loss.privacy_parameters"]
    assert parameters == {"epsilon": float(release.epsilon), "delta": 1e-10, "rho": 0.1}
    assert privacy["statement"] in found["deployment.privacy_loss.privacy_unit_details"]
    assert privacy["noise"] in found["deployment.implementation.mechanisms"]
    note = found["deployment.administrative.evidence_sources.release.misc.note"]
    assert hash_file(tmp_path / "release" / "manifest.json") in note
    group = make_release(classes=True, intervals=False, **ENTRIES["group"])
    tt.export(group, "registry", tmp_path / "group.yaml")
    found = dict(walk(yaml.safe_load((tmp_path / "group.yaml").read_text(encoding="utf-8"))))
    assert found["deployment.privacy_loss.privacy_unit"] == "Foyer \U0001f3e0"
    assert found["deployment.privacy_loss.number_of_privacy_units"] == group.total
    assert found["deployment.dp_variant.variant_name"] == "Pure DP"


def test_hostile_names_do_not_break_an_entry(tmp_path: Path) -> None:
    hierarchy = tt.Hierarchy.from_paths(["a: b", "- #c"], [("x\n  y: 'z'", path[-1]) for path in PATHS[:3]])
    counts = tt.GroupCounts(hierarchy, (1, 2), [[30, 20]] * 3)
    tt.export(tt.release(counts, epsilon=1), "registry", tmp_path / "entry.yaml")
    entry = yaml.safe_load((tmp_path / "entry.yaml").read_text(encoding="utf-8"))
    assert not find_faults(fill_in(entry))
    assert entry["deployment"]["basic"]["name"].endswith("x\n  y: 'z'")
    assert json.dumps(entry).count("- #c") > 2


def test_columns_from_outside_are_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags of cells, as text and as booleans: written with their types, and harmless as text."""
    flag = Column("flag", pa.string(), lambda rows: np.where(rows.groups > 20, "=A<B>", "few"))
    sure = Column("sure", pa.bool_(), lambda rows: rows.groups > 20)
    monkeypatch.setattr(release_columns, "COLUMNS", (*release_columns.COLUMNS, flag, sure))
    release = make_release(classes=False, intervals=True)
    expected = [("=A<B>", True) if row[5] > 20 else ("few", False) for row in list_rows(release)]
    for name in ("datapackage", "csvw", "sdmx-csv"):
        tt.export(release, name, tmp_path / name)
    tt.export(release, "xlsx", tmp_path / "book.xlsx")
    with system.use_context(trusted=True):
        package = Package(str(tmp_path / "datapackage" / "datapackage.json"))
        assert package.validate().valid
        rows = read_table(package.resources[0])
    assert [(strip_guard(row["flag"]), row["sure"]) for row in rows] == expected
    read = CSVW(str(tmp_path / "csvw" / "csv-metadata.json"), validate=True)
    assert [(strip_guard(row["flag"]), row["sure"]) for row in read.tables[0]] == expected
    message = read_sdmx(tmp_path / "sdmx-csv" / "structure.xml", validate=True)
    kinds = {each.id: each.dtype for each in message.get_data_structure_definitions()[0].components}
    assert (kinds["OBS_FLAG"], kinds["OBS_SURE"]) == ("String", "Boolean")
    header, *cells = openpyxl.load_workbook(tmp_path / "book.xlsx")["counts"].iter_rows(values_only=True)
    assert header[-2:] == ("flag", "sure")
    assert [(row[-2], row[-1] == "true") for row in cells] == expected
