"""The JSON Schema of manifests: what is written fits it, and readers with another library find the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tallytree as tt
from tallytree.privacy.queries import QUERIES
from tallytree.releases.evidence import check_schema
from tallytree.releases.manifest import FORMAT, PACKAGES, Manifest, read_schema, seal
from tallytree.releases.released import MANIFEST

EARLIER = [Path(__file__).parent / "folder-0.1.0", Path(__file__).parents[1] / "ledger/earlier/release"]
H = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])


def make_releases(place: Path) -> Iterator[tt.Release]:
    """Releases of all kinds: each part that a manifest may have is in one of them."""
    counts = tt.GroupCounts(H, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    classes = tt.GroupCounts(H, sizes=tt.SizeClasses([1, 5, 10]), leaf=[[40, 30, 20], [60, 20, 10]])
    ledger = tt.Ledger.create(place / "ledger.db", dataset="census", epsilon="3")
    yield tt.release(counts, epsilon="1/3", ledger=ledger, label="2026-02", owner="us")
    yield tt.release(counts, rho="1/10", delta="1e-9", words=tt.Words(group="firm", title="Firms"))
    yield tt.release(classes, epsilon=1, total="private", protect="group")
    yield tt.release(counts, epsilon=1, public_totals="state")
    yield tt.add_intervals(tt.release(classes, epsilon=1), replicates=10, keep_replicates=True)


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    place = tmp_path_factory.mktemp("schema")
    made = []
    for number, release in enumerate(make_releases(place)):
        release.save(place / str(number), replicates=0)
        made.append(json.loads((place / str(number) / MANIFEST).read_bytes()))
    return made


def fits(manifest: Manifest) -> bool:
    """Whether both libraries say so."""
    outcome = check_schema(manifest).passed
    assert Draft202012Validator(read_schema()).is_valid(manifest) is outcome
    return outcome


def list_places(part: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        yield from list_places(value, (*path, key))


def test_the_schema_is_one_and_its_version_is_that_of_the_format(manifests: list[Manifest]) -> None:
    schema = read_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:tallytree:manifest:{FORMAT.rpartition('-')[2]}"
    assert schema["properties"]["format"] == {"const": FORMAT}
    assert list(schema["properties"]["software"]["properties"]) == ["tallytree", *PACKAGES]
    level = schema["properties"]["privacy"]["properties"]["levels"]["items"]["properties"]
    assert set(level["query"]["enum"]) == set(QUERIES)
    assert all(map(fits, manifests))


def test_nothing_is_described_that_is_not_written(manifests: list[Manifest]) -> None:
    for part, described in read_schema()["properties"].items():
        written = {key for manifest in manifests for key in manifest.get(part, {})}
        if "properties" in described:
            assert set(described["properties"]) - {"opendp", "columns"} <= written, part  # as extensions


@pytest.mark.parametrize("folder", EARLIER, ids=lambda folder: folder.name)
def test_manifests_of_earlier_versions_fit(folder: Path) -> None:
    assert fits(json.loads((folder / MANIFEST).read_bytes()))
    checks = {check.name: check for check in tt.load(folder).verify().checks}
    assert checks["schema"].passed


@settings(max_examples=150)
@given(data=st.data())
def test_both_libraries_judge_changed_manifests_alike(manifests: list[Manifest], data: st.DataObject) -> None:
    """The one that verify uses knows older drafts, the other draft 2020-12."""
    manifest = deepcopy(data.draw(st.sampled_from(manifests)))
    *path, last = data.draw(st.sampled_from([place for place in list_places(manifest) if place]))
    part: Any = manifest
    for key in path:
        part = part[key]
    if data.draw(st.booleans()):
        del part[last]
    else:
        part[last] = data.draw(
            st.sampled_from([None, True, 0, 1, -1, 0.5, "", "0", "1/3", "x", [], {}, ["x"], {"x": 1}])
        )
    fits(manifest)


CHANGES: dict[str, Callable[[Any], object]] = {
    "privacy.epsilon": lambda m: m["privacy"].update(epsilon="0.5"),
    "privacy.levels.0.scale": lambda m: m["privacy"]["levels"][0].update(scale=6),
    "data.frame": lambda m: m["data"].update(frame="yes"),
    "files.release.parquet": lambda m: m["files"].update({"release.parquet": "ab"}),
    "created": lambda m: m.update(created="yesterday"),
}


@pytest.mark.parametrize("place", CHANGES)
def test_what_does_not_fit_is_named(place: str, manifests: list[Manifest]) -> None:
    manifest = deepcopy(manifests[-1])
    CHANGES[place](manifest)
    check = check_schema(manifest)
    assert (check.violations, check.example) == (1, f"'{place}' is not as described")


def test_a_folder_whose_manifest_does_not_fit_fails_its_verification(tmp_path: Path) -> None:
    shutil.copytree(EARLIER[0], tmp_path / "folder")
    path = tmp_path / "folder" / MANIFEST
    manifest = json.loads(path.read_bytes())
    del manifest["solution"]["effort"]
    path.write_bytes(seal(manifest).encode())
    failed = [check for check in tt.load(tmp_path / "folder").verify().checks if check.failed]
    assert [(check.name, check.example) for check in failed] == [("schema", "'solution' is not as described")]
