"""What ``verify`` finds: any changed byte, and claims that do not follow, even with hashes made anew."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tallytree as tt
from tallytree.errors import FolderError
from tallytree.files import hash_file
from tallytree.mechanisms.registry import MECHANISMS
from tallytree.privacy.neighbours import EMPTY_GROUPS_ON_TRUST, say_taken_on_trust
from tallytree.privacy.plan import Plan
from tallytree.releases.evidence import check_manifest, check_receipt, check_solution
from tallytree.releases.manifest import seal
from tallytree.releases.release_columns import tabulate_parts
from tallytree.releases.released import MANIFEST, MEASUREMENTS, RELEASE
from tallytree.report.report_page import write_page

H = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY"), ("US", "WA")])
COUNTS = tt.GroupCounts(H, (1, 4), [[50, 20, 9, 3], [70, 10, 0, 1], [5, 5, 5, 5]])

CHECKS = ["consistency", "validity", "faithfulness", "budget", "noise", "statement", "ledger", "mechanism"]
CHECKS += ["solution", "schema", "manifest", "files"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("release") / "out"
    tt.release(COUNTS, epsilon="1").save(made, replicates=0)
    return made


def find_failures(folder: Path) -> list[str]:
    """The checks that fail, or that the folder is refused."""
    try:
        release = tt.load(folder)
    except FolderError:
        return ["refused"]
    return [check.name for check in release.verify(recompute=True).checks if check.failed]


def test_every_check_is_reported(folder: Path) -> None:
    verification = tt.load(folder).verify(recompute=True)
    assert [check.name for check in verification.checks] == CHECKS
    assert verification
    assert [check.name for check in verification.skipped] == ["noise"]  # of four cells
    quick = tt.load(folder).verify()
    assert [check.name for check in quick.skipped] == ["noise", "solution"]
    assert quick.describe() == "No check failed; 2 were not made."


@pytest.mark.parametrize("name", [RELEASE, MEASUREMENTS, MANIFEST])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_is_found(name: str, folder: Path, data: st.DataObject) -> None:
    path = folder / name
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    try:
        path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
        assert find_failures(folder)
    finally:
        path.write_bytes(whole)
    assert not find_failures(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: json.dumps(json.loads(text)),
        lambda text: text.replace('"format"', '"format": "x", "format"', 1),
        lambda text: seal({**json.loads(text), "sha256": ""})[:-1],
    ],
    ids=["blank", "line ends", "layout", "twice", "cut"],
)
def test_a_manifest_written_otherwise_is_found(folder: Path, change: Callable[[str], str]) -> None:
    path = folder / MANIFEST
    whole = path.read_bytes()
    try:
        path.write_bytes(change(whole.decode()).encode())
        assert find_failures(folder) == ["manifest"]
    finally:
        path.write_bytes(whole)


def copy_folder(folder: Path, place: Path) -> Path:
    shutil.copytree(folder, place / "copy")
    return place / "copy"


def reseal(folder: Path, change: Callable[[Any], object] = lambda manifest: None) -> None:
    """Change a manifest, and make the digests of it and of all files anew."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    change(manifest)
    manifest["files"] = {name: hash_file(folder / name) for name in manifest["files"]}
    (folder / MANIFEST).write_bytes(seal(manifest).encode())


def forge(folder: Path, change: Callable[[Any], object]) -> list[str]:
    """What is found after a change of the manifest by somebody who also made its digest anew."""
    path = folder / MANIFEST
    whole = path.read_bytes()
    manifest = json.loads(whole)
    change(manifest)
    manifest["files"] |= {name: hash_file(folder / name) for name in (RELEASE, MEASUREMENTS)}
    try:
        path.write_bytes(seal(manifest).encode())
        return find_failures(folder)
    finally:
        path.write_bytes(whole)


FORGERIES: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    "nothing": (lambda m: None, []),
    "another promise": (lambda m: m["privacy"].update(statement="All is well."), ["statement"]),
    "other facts": (lambda m: m["privacy"]["public"].pop(), ["statement"]),
    "a new claim": (lambda m: m["privacy"].update(certified="yes"), ["statement", "schema"]),
    "a frame": (lambda m: m["data"].update(frame=True), ["statement"]),
    "fewer regions": (lambda m: m["data"].update(regions=[1, 2]), ["refused"]),
    "other regions": (lambda m: m["data"].update(regions=[2, 2]), ["statement"]),
    "epsilon": (lambda m: m["privacy"].update(epsilon="1/2"), ["budget", "statement"]),
    "total": (lambda m: m["data"].update(total=1), ["faithfulness", "statement", "solution"]),
    "mechanism": (
        lambda m: m["mechanism"].update(name="direct-dp", revision=1, options={}),
        ["mechanism", "solution"],
    ),
    "a revision that there is not": (lambda m: m["mechanism"].update(name="direct-dp"), ["mechanism"]),
    "no mechanism": (lambda m: m.update(mechanism=None), ["mechanism", "solution", "schema"]),
    "unknown mechanism": (lambda m: m["mechanism"].update(name="magic"), ["mechanism", "solution"]),
    "unknown option": (lambda m: m["mechanism"].update(options={"magic": 1}), ["mechanism", "solution"]),
    "an option called name": (
        lambda m: m["mechanism"].update(options={"name": "direct-dp"}),
        ["mechanism", "solution"],
    ),
    "option left out": (lambda m: m["mechanism"].update(options={}), ["mechanism"]),
    "symbol": (lambda m: m["mechanism"].update(symbol="M_H"), ["mechanism"]),
    "exact": (lambda m: m["mechanism"].update(exact=True), ["mechanism"]),
    "objective": (lambda m: m["solution"].update(objective="0"), ["mechanism"]),
    "no objective": (lambda m: m["solution"].pop("objective"), ["mechanism", "schema"]),
    "certificate": (lambda m: m["solution"].update(certificate_slack="1"), ["mechanism"]),
    "no solution": (lambda m: m.update(solution={}), ["mechanism", "solution", "schema"]),
    "solver": (lambda m: m["solution"].update(solver="magic"), ["solution"]),
    "gap": (lambda m: m["solution"]["accuracy"].update(gap=-0.5), ["solution"]),
    "bound": (lambda m: m["solution"]["accuracy"].update(bound=1e9), ["solution"]),
    "no accuracy": (lambda m: m["solution"].update(accuracy=None), ["solution"]),
    "more accuracy": (lambda m: m["solution"]["accuracy"].update(certified=1.0), ["solution"]),
    "effort": (lambda m: m["solution"]["effort"].update(magic=1), ["solution"]),
    "a key": (lambda m: m.update(certified="yes"), ["refused"]),
    "a key of software": (lambda m: m["software"].update(certified="yes"), ["refused"]),
    "a key of data": (lambda m: m["data"].update(certified="yes"), ["refused"]),
    "a key of mechanism": (lambda m: m["mechanism"].update(certified="yes"), ["refused"]),
    "a key of solution": (lambda m: m["solution"].update(certified="yes"), ["refused"]),
    "a key of a level": (
        lambda m: m["privacy"]["levels"][0].update(certified="yes"),
        ["statement", "schema"],
    ),
    "receipt": (
        lambda m: m["privacy"].update(
            ledger={
                "dataset": "d",
                "entry": 2,
                "hash": "0" * 64,
                "unit": "epsilon",
                "charged": "1/2",
                "spent": "1/2",
                "remaining": "1",
            }
        ),
        ["ledger"],
    ),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_claim_that_does_not_follow_is_found_whatever_the_hashes(folder: Path, case: str) -> None:
    change, found = FORGERIES[case]
    assert forge(folder, change) == found


def test_words_of_another_version_are_said_to_be_not_checked(folder: Path, tmp_path: Path) -> None:
    def change(manifest: Any) -> None:
        manifest["software"]["tallytree"] = "0.0.1"

    copy = copy_folder(folder, tmp_path)
    reseal(copy, change)
    assert "words" not in [check.name for check in tt.load(copy).verify().checks]  # they are the same
    reseal(copy, lambda manifest: manifest["privacy"].update(statement="All is well."))
    verification = tt.load(copy).verify(recompute=True)
    assert verification.passed
    (words,) = [check for check in verification.checks if check.name == "words"]
    assert not words.made
    assert not words.passed
    assert not words.failed
    assert "the wording of 'statement' is that of version '0.0.1'" in words.statement
    assert verification.describe() == "No check failed; 2 were not made."


def test_a_manifest_that_was_changed_is_said_to_be(folder: Path) -> None:
    content, manifest = (folder / MANIFEST).read_bytes(), tt.load(folder).manifest
    assert check_manifest(content, manifest).example == ""
    changed = check_manifest(content + b" ", manifest)
    assert (changed.violations, changed.example) == (1, "manifest.json is not the file that was written")


def test_other_promises_of_an_earlier_version_are_found(folder: Path) -> None:
    def change(manifest: Any) -> None:
        manifest["software"]["tallytree"] = "0.0.1"
        manifest["privacy"]["certified"] = "yes"

    assert forge(folder, change) == ["statement", "schema"]


@pytest.mark.parametrize(
    ("unit", "charged", "spent", "paid"),
    [
        ("epsilon", "1", "1", True),
        ("epsilon", "3/2", "5", True),
        ("epsilon", "999/1000", "2", False),
        ("epsilon", "2", "1", False),  # more than was spent in all
        ("rho", "1/4", "1/4", True),  # two levels of epsilon 1/2
        ("rho", "1/5", "1/5", False),
    ],
)
def test_a_charge_must_cover_the_release(unit: str, charged: str, spent: str, paid: bool) -> None:
    check, looked_up = check_receipt(make_receipt(unit, charged, spent), plan(epsilon="1"))
    assert check.passed == paid
    assert not looked_up.made
    assert "'tallytree ledger verify' does that" in looked_up.statement
    assert check.example == ("" if paid else "entry 7 does not cover the release")


def test_no_charge_of_epsilon_covers_gaussian_noise() -> None:
    assert check_receipt(make_receipt("rho", "1", "1"), plan(rho="1", delta="1e-9"))[0].passed
    assert not check_receipt(make_receipt("epsilon", "100", "100"), plan(rho="1", delta="1e-9"))[0].passed


def plan(*, epsilon: str | None = None, rho: str | None = None, delta: str | None = None) -> Plan:
    return tt.mechanism("direct-dp").plan(H, sizes=(1, 4), epsilon=epsilon, rho=rho, delta=delta)


def make_receipt(unit: str, charged: str, spent: str) -> dict[str, Any]:
    numbers = {"charged": charged, "spent": spent, "remaining": "0"}
    ledger = {"dataset": "d", "entry": 7, "hash": "0" * 64, "unit": unit, **numbers}
    return {"privacy": {"ledger": ledger}}


@pytest.mark.parametrize(("name", "slack"), [("direct-dp", 0), ("cumulative-joint", 1)])
def test_every_other_count_is_found_but_one_group_in_floating_point(name: str, slack: int) -> None:
    release = tt.release(COUNTS, epsilon="1", mechanism=name)
    for changes, violations, example in [
        ([], 0, ""),
        ([(1, 2, 1)], 1 - slack, "one differs by 1"),
        ([(1, 2, -1)], 1 - slack, "one differs by 1"),
        ([(0, 1, 2)], 1, "one differs by 2"),
        ([(0, 0, 5), (1, 1, -9), (1, 3, 4)], 3, "one differs by 9"),
    ]:
        counts = [level.copy() for level in release.counts]
        for level, size, change in changes:
            counts[level][-1, size] += change
        check = check_solution(release.manifest, release.measurements, counts, release.total)
        assert (check.violations, check.example) == (violations, example if violations else "")


def test_a_mechanism_that_cannot_run_is_one_violation(folder: Path) -> None:
    release = tt.load(folder)
    manifest = {**release.manifest, "mechanism": {"name": "magic", "options": {}}}
    check = check_solution(manifest, release.measurements, release.counts, release.total)
    assert check.violations == 1
    assert "magic" in check.example


def test_counts_that_add_up_but_were_changed_are_found(folder: Path) -> None:
    """Some groups go from one size to another, in a state and in the nation: all sums still hold.

    The objective is quadratic in how many go, so that it can be as stated for one number of them, not two.
    """
    path = folder / RELEASE
    whole = path.read_bytes()
    release = tt.load(folder)
    big = int(np.argmax(release.counts[1][0]))
    failures = []
    for moved in (3, 4):
        counts = [level.copy() for level in release.counts]
        for level in counts:
            level[0, big] -= moved
            level[0, (big + 1) % 4] += moved
        assert all((level >= 0).all() for level in counts)
        tables = tabulate_parts(H, (1, 4), counts, value="groups", zeros=False)
        try:
            pa_parquet.write_table(pa.concat_tables(tables), path)
            failures.append(forge(folder, lambda manifest: None))
        finally:
            path.write_bytes(whole)
    assert all(found in (["solution"], ["mechanism", "solution"]) for found in failures)
    assert ["mechanism", "solution"] in failures


@pytest.mark.parametrize("kind", [kind for kind in MECHANISMS if kind.consistent], ids=lambda kind: kind.name)
def test_the_counts_of_every_mechanism_come_out_again(kind: Any, tmp_path: Path) -> None:
    tt.release(COUNTS, epsilon="10", mechanism=kind.name).save(tmp_path / "out", replicates=0)
    checks = {check.name: check for check in tt.load(tmp_path / "out").verify(recompute=True).checks}
    assert not any(check.failed for check in checks.values())
    assert checks["mechanism"].passed
    assert checks["solution"].made == (kind.name != "cumulative-qip")
    assert ("not recomputed" in checks["solution"].statement) != checks["solution"].made


def test_the_charge_of_a_ledger_is_checked(tmp_path: Path) -> None:
    tt.Ledger.create(tmp_path / "ledger.db", dataset="d", epsilon=2)
    tt.release(COUNTS, epsilon=1, ledger=tmp_path / "ledger.db").save(tmp_path / "out", replicates=0)
    assert find_failures(tmp_path / "out") == []


def test_measurements_that_were_changed_are_found(folder: Path) -> None:
    path = folder / MEASUREMENTS
    whole = path.read_bytes()
    table = pa_parquet.read_table(path)
    moved = pc.add(table["measured"], pa.scalar(4_000))
    try:
        pa_parquet.write_table(
            table.set_column(table.column_names.index("measured"), "measured", moved), path
        )
        assert forge(folder, lambda manifest: None) == ["mechanism", "solution"]
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("has_frame", [None, False, True])
def test_bounds_of_counts_are_never_said_to_be_enforced(has_frame: bool | None) -> None:
    """Whoever gives counts may know of a frame; a person's records were not there to look at."""
    hierarchy = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(hierarchy, (1, 3), [[2, 0, 1], [1, 1, 1]], has_frame=has_frame)
    release = tt.release(counts, epsilon="1")
    assert release.manifest["privacy"]["bounds"] == "taken on trust"
    assert release.manifest["data"]["frame"] == has_frame
    assert release.verify().passed


FRAME: dict[str, list[Any]] = {"household": [1, 2, 3, 4], "state": ["GA", "GA", "NY", "NY"]}


def count_people(frame: dict[str, list[Any]] | None) -> tt.GroupCounts:
    people = pa.table({"household": [1, 1, 2], "state": ["GA", "GA", "GA"]})
    listed = None if frame is None else pa.table(frame)
    return tt.count_groups(people, group="household", regions=["state"], sizes=(0, 3), frame=listed)


@pytest.mark.parametrize("frame", [None, FRAME], ids=["records", "frame"])
def test_only_counts_of_records_have_their_bounds_enforced(frame: dict[str, list[Any]] | None) -> None:
    counts = count_people(frame)
    given: dict[str, Any] = {"bounds": counts.bounds, "has_frame": counts.has_frame}
    edited = {
        "other numbers": counts.replace(counts.leaf * 7),
        "the same numbers": counts.replace(counts.leaf),
        "by hand": tt.GroupCounts(
            counts.hierarchy, counts.sizes, counts.leaf, assumptions=["own note"], **given
        ),
        "by hand, noted": tt.GroupCounts(
            counts.hierarchy, counts.sizes, counts.leaf, assumptions=counts.assumptions, **given
        ).add_note("own note"),
    }
    for name, other in edited.items():
        release = tt.release(other, epsilon="1")
        privacy = release.manifest["privacy"]
        assert privacy["bounds"] == "taken on trust", name
        assert privacy["assumed"][0] == say_taken_on_trust(counts.bounds), name
        assert "A frame lists the groups" not in privacy["statement"], name
        assert ("every empty group was taken on trust" in privacy["statement"]) == (frame is not None), name
        assert release.verify().passed
    for same in (counts, counts.add_note("own note")):
        release = tt.release(same, epsilon="1")
        assert release.manifest["privacy"]["bounds"] == "enforced on the records of people"
        assert say_taken_on_trust(counts.bounds) not in release.manifest["privacy"]["assumed"]
        assert release.verify().passed
    with pytest.raises(ValueError, match="WRITEABLE"):
        counts.leaf.flags.writeable = True


def test_bounds_forged_as_enforced_are_found(folder: Path) -> None:
    enforced = "enforced on the records of people"
    assert forge(folder, lambda m: m["privacy"].update(bounds=enforced)) == ["statement"]

    def forge_frame(manifest: Any) -> None:
        manifest["privacy"]["bounds"] = enforced
        manifest["data"]["frame"] = False

    assert forge(folder, forge_frame) == ["statement"]


@pytest.mark.parametrize(("sizes", "assumed"), [((0, 2), True), ((1, 3), False)])
def test_that_a_table_counts_empty_groups_is_an_assumption(sizes: tuple[int, int], assumed: bool) -> None:
    """Nobody knows it of a table, whatever its sizes start at."""
    table = pa.table({"state": ["GA", "NY"], "size": [1, 2], "groups": [5, 7]})
    by_hand = tt.GroupCounts(H, sizes, np.ones((3, 3), dtype=np.int64))
    for counts in (by_hand, tt.GroupCounts.from_table(table, regions=["state"], sizes=sizes)):
        release = tt.release(counts, epsilon="1")
        privacy = release.manifest["privacy"]
        assert (EMPTY_GROUPS_ON_TRUST in privacy["assumed"]) == assumed
        assert ("every empty group was taken on trust" in privacy["statement"]) == assumed
        assert "so the guarantee also covers" not in privacy["statement"]
        page = write_page(release, release.verify())
        assert ("every empty group was taken on trust" in page) == assumed
