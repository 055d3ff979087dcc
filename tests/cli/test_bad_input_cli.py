"""Wrong input through the command line: exit code 2, one message, nothing shown, nothing left behind."""

import csv
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree as tt
from tallytree.errors import InputError
from tallytree.privacy.noise import ExactNoise
from tallytree.releases import released as releases
from tallytree.releases.release_files import write_file
from tests.bad_input_support import (
    BAD_FILES,
    HEADER,
    HOSTILE_NAMES,
    SECRET,
    Bench,
    Case,
    Commands,
    check_ended,
    check_refused,
    check_secrets,
    full_disk,
    list_all,
    list_cases,
    no_noise,
    run_process,
    unchanged,
    write_files,
)
from tests.commands import Outcome, Run, make_words

OPTIONS = {"source": "counts.csv", "region": "state", "sizes": "1:3", "epsilon": "1", "out": "out"}


def release(*more: str, without: str = "", **changes: str) -> list[str]:
    """The words of a release that works, but for ``changes``."""
    return make_words("release", {**OPTIONS, **changes}, *more, without=without)


def spec(file: str) -> list[str]:
    return ["release", "--spec", file]


def evaluate(truth: str) -> list[str]:
    return ["evaluate", "released", "--truth", truth, "--data-is-not-sensitive"]


WRONG: Commands = {
    "command": (["relase"], "No such command 'relase'"),
    "option": (release("--epsilom", "1"), "No such option: --epsilom"),
    "argument": (release("more.csv"), "unexpected extra argument"),
    "option-without-value": (release("--budget"), "'--budget' requires an argument"),
    "without-source": (release(without="source"), "'source' is missing"),
    "without-region": (release(without="region"), "'regions' is missing"),
    "without-sizes": (release(without="sizes"), "'sizes' is missing"),
    "without-epsilon": (release(without="epsilon"), "'epsilon' is missing"),
    "without-out": (release(without="out"), "'out' is missing"),
    "sizes-reversed": (release(sizes="3:1"), "are not a range"),
    "sizes-one": (release(sizes="3"), "'3' are not a range such as 1:20"),
    "sizes-three": (release(sizes="1:2:3"), "not a range"),
    "sizes-text": (release(sizes="a:b"), "not a range"),
    "sizes-negative": (release(sizes="-1:3"), "not a range"),
    "sizes-fraction": (release(sizes="1.5:3"), "not a range"),
    "sizes-digits": (release(sizes="1:" + "9" * 5000), "not a range"),
    "sizes-many": (release(sizes="1:2000000"), "more than 1048576"),
    "sizes-empty": (release(sizes=""), "not a range"),
    "epsilon-zero": (release(epsilon="0"), "must be above zero"),
    "epsilon-negative": (release(epsilon="-1"), "must be above zero"),
    "epsilon-text": (release(epsilon="one"), "not a number: 'one'"),
    "epsilon-nan": (release(epsilon="NaN"), "not a number"),
    "epsilon-infinite": (release(epsilon="Infinity"), "not a number"),
    "epsilon-comma": (release(epsilon="0,5"), "not a number: '0,5'"),
    "epsilon-hex": (release(epsilon="0x1p-3"), "not a number"),
    "epsilon-divided": (release(epsilon="1/0"), "not a number"),
    "epsilon-exponent": (release(epsilon="1e-9999999999"), "more than 40 digits"),
    "epsilon-tiny": (release(epsilon="1e-30"), "too small at level 'root'"),
    "epsilon-long": (release(epsilon="1" * 10_000), "longer than 40 characters"),
    "epsilon-empty": (release(epsilon=""), "not a number"),
    "budget-syntax": (release(budget="root"), "not a list such as nation=1,state=2"),
    "budget-twice": (release(budget="root=1,root=2"), "not a list"),
    "budget-nameless": (release(budget="=1"), "not a list"),
    "budget-empty": (release(budget=""), "not a list"),
    "budget-unknown": (release(budget="root=1,stat=2"), "did you mean 'state'"),
    "budget-missing": (release(budget="root=1"), "no weight to level 'state'"),
    "budget-zero": (release(budget="root=0,state=1"), "above zero"),
    "budget-text": (release(budget="root=x,state=1"), "not a number: 'x'"),
    "mechanism": (release(mechanism="direct_dp"), "did you mean 'direct-dp'"),
    "bounds-text": (release("--max-records", "many"), "'--max-records'.* valid integer"),
    "bounds-zero": (release("--max-quantity", "0"), "max_quantity must be a whole number from 1"),
    "root-empty": (release(root="", source="other.csv"), "root must have a name"),
    "root-not-utf8": (release(root="\udcff"), "."),
    "root-level-taken": (release("--root-level", "size"), "may not be called 'size'"),
    "root-level-region": (release("--root-level", "state"), "the same name"),
    "region-twice": (release("--region", "state"), "'state'"),
    "region-size": (release("--region", "size"), "'size'"),
    "size-groups": (release(size="groups"), "'groups'"),
    "column": (release(size="sise"), "did you mean 'size'"),
    "column-empty": (release(groups=""), "no column ''"),
    "source-missing": (release(source="no.csv"), "There is no file 'no.csv'"),
    "source-newline": (release(source="no\nfile.csv"), "There is no file"),
    "source-long-name": (release(source="x" * 300 + ".csv"), "xxx.*(no file|too long)|no file"),
    "source-folder": (release(source="folder"), "'folder' is a folder"),
    "source-ending": (release(source="counts.xlsx"), "neither a CSV nor a Parquet"),
    "csv-empty": (release(source="empty.csv"), "cannot be read|empty|no rows"),
    "csv-no-rows": (release(source="no-rows.csv"), "no rows"),
    "csv-no-header": (release(source="no-header.csv"), "column"),
    "csv-ragged": (release(source="ragged.csv"), "cannot be read"),
    "csv-latin": (release(source="latin.csv"), "not UTF-8"),
    "csv-latin-header": (release(source="latin-header.csv"), "not UTF-8"),
    "csv-negative": (release(source="negative.csv"), "row 2.*'groups' is negative"),
    "csv-fraction": (release(source="fraction.csv"), "'groups' hold 1 fractions"),
    "csv-nan": (release(source="nan.csv"), "'groups' hold 1 NaN"),
    "csv-null": (release(source="null.csv"), "'groups' has 1 missing"),
    "csv-text": (release(source="text.csv"), "'groups'.*holds string"),
    "csv-huge": (release(source="huge.csv"), "'groups' go beyond"),
    "csv-twice": (release(source="twice.csv"), "row 2.*same region and size"),
    "csv-outside": (release(source="outside.csv"), "row 2.*not from 1 to 3"),
    "parquet-empty": (release(source="empty.parquet"), "cannot be read"),
    "parquet-text": (release(source="text.parquet"), "cannot be read"),
    "out-file": (release(out="counts.csv"), "exists already"),
    "out-folder": (release(out="folder"), "exists already"),
    "out-link": (release(out="link"), "exists already"),
    "out-dangling-link": (release(out="dangling"), "exists already"),
    "out-below-file": (release(out="counts.csv/out"), "cannot be written"),
    "out-deep-below-file": (release(out="counts.csv/a/b/out"), "cannot be written"),
    "out-empty": (release(out=""), "exists already"),
    "out-long-name": (release(out="x" * 300), "name too long"),
    "out-new-parents": (release(out="new/parents/out", source="negative.csv"), "negative"),
    "spec-missing": (spec("no.toml"), "There is no file 'no.toml'"),
    "spec-folder": (spec("folder"), "cannot be read: Is a directory"),
    "spec-not-toml": (spec("not.toml"), "not valid TOML"),
    "spec-not-utf8": (spec("not-utf8.toml"), "not valid TOML"),
    "spec-unknown": (spec("unknown.toml"), "did you mean 'epsilon'"),
    "spec-incomplete": (spec("no-epsilon.toml"), "'epsilon' is missing"),
    "spec-regions": (spec("regions.toml"), "'regions' must be a list"),
    "spec-region": (spec("region.toml"), "list of names"),
    "spec-sizes": (spec("sizes.toml"), "pair of whole numbers"),
    "spec-sizes-float": (spec("sizes-float.toml"), "pair of whole numbers"),
    "spec-sizes-digits": (spec("sizes-digits.toml"), "sizes"),
    "spec-sizes-64-bit": (spec("sizes-64-bit.toml"), "size"),
    "spec-text": (spec("text.toml"), "'size' must be text"),
    "spec-epsilon-bool": (spec("epsilon-bool.toml"), "must be text such as"),
    "spec-epsilon-nan": (spec("epsilon-nan.toml"), "not a number"),
    "spec-epsilon-digits": (spec("epsilon-digits.toml"), "."),
    "spec-budget": (spec("budget.toml"), "weight for each level"),
    "spec-bounds": (spec("bounds.toml"), "max_records must be a whole number"),
    "spec-null-source": (spec("null-source.toml"), "cannot be read|no file"),
    "spec-null-out": (spec("null-out.toml"), "cannot be written"),
    "verify-nothing": (["verify"], "Missing argument 'DIR'"),
    "verify-missing": (["verify", "no"], "no release folder 'no'"),
    "verify-file": (["verify", "counts.csv"], "no release folder 'counts.csv'"),
    "verify-other-folder": (["verify", "folder"], "manifest.json is missing"),
    "verify-manifest": (["verify", "spoiled-manifest"], "manifest is damaged"),
    "verify-parquet": (["verify", "spoiled-parquet"], "release.parquet is damaged"),
    "verify-long-name": (["verify", "x" * 300], "folder|too long"),
    "evaluate-without-truth": (["evaluate", "released"], "Missing option '--truth'"),
    "evaluate-sensitive": (["evaluate", "released", "--truth", "counts.csv"], "--data-is-not-sensitive"),
    "evaluate-regions": (evaluate("other.csv"), "1 row .the first is row 1.*not a leaf of the hierarchy"),
    "evaluate-missing": (evaluate("no.csv"), "There is no file 'no.csv'"),
    "spec-endless": (spec("/dev/zero"), "'/dev/zero' is larger than 1,048,576 bytes"),
    "keygen-nameless": (["keygen", ""], "needs a name"),
    "unbiased-nameless": (["unbiased", "released", "--out", ""], "'.' cannot be written: Is a directory"),
    "plan-page-other": (
        ["plan", "counts.csv", "--region", "state", "--epsilon", "1", "--page", "counts.csv"],
        "'--page'.*the name of a page ends in .html, and 'counts.csv' does not",
    ),
    "demo-epsilon": (["demo", "--epsilon", "x", "--out", "out"], "not a number: 'x'"),
}


@pytest.fixture
def place(bench: Bench) -> Path:
    """A folder with good and bad inputs, in which the commands run."""
    place = bench.folder
    write_files(place, BAD_FILES)
    (place / "folder").mkdir()
    (place / "link").symlink_to("folder")
    (place / "dangling").symlink_to("nowhere")
    for name in ("released", "spoiled-manifest", "spoiled-parquet"):
        shutil.copytree(bench.released, place / name)
    (place / "spoiled-manifest" / "manifest.json").write_text(f'{{"format": "{SECRET}')
    (place / "spoiled-parquet" / "release.parquet").write_text(SECRET)
    return place


@pytest.mark.parametrize("case", list_cases((InputError, WRONG)))
def test_wrong_input_is_refused(case: Case, place: Path, bench: Bench) -> None:
    case.check(bench)


@pytest.mark.parametrize("name", ["command", "epsilon-text", "csv-negative", "out-file", "verify-missing"])
def test_wrong_input_is_refused_by_the_real_command(name: str, place: Path, bench: Bench) -> None:
    Case(*WRONG[name]).check(replace(bench, run=partial(run_process, place)))


def test_no_arguments_show_the_help_and_no_empty_error(run: Run) -> None:
    outcome = run()
    assert "Usage" in outcome.out + outcome.err
    assert "Error: \n" not in outcome.err


def test_a_message_is_the_same_for_programs(run: Run, place: Path) -> None:
    done = run(*release("--json", source="negative.csv"))
    told = json.loads(done.out)["error"]
    assert (told["kind"], told["exit_code"], told["charged"]) == ("data", done.code, False)
    assert told["message"] in done.err
    check_refused(done._replace(out=""), place, "row 2.*negative")


# Limits on a process, so that a test of something that takes for ever ends all the same.
CPU_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (10, 10))"
MEMORY_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))"


def test_spec_with_an_endless_exponent_is_refused_at_once(place: Path) -> None:
    check_refused(run_process(place, *spec("epsilon-exponent.toml"), setup=CPU_LIMIT), place, "epsilon")


def test_manifest_with_an_endless_exponent_is_refused_at_once(place: Path) -> None:
    file = place / "released" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["privacy"]["epsilon"] = "1e-9999999999"
    file.write_text(json.dumps(manifest))
    check_refused(run_process(place, "verify", "released", setup=CPU_LIMIT), place, "manifest")


def test_more_cells_than_there_may_be_are_refused_before_memory_is_asked_for(place: Path) -> None:
    rows = "".join(f"{SECRET} {number},1,1\n" for number in range(2**11 + 1))
    (place / "many.csv").write_text(HEADER + rows)
    words = release(source="many.csv", sizes="1:1048576")
    check_refused(run_process(place, *words, setup=MEMORY_LIMIT), place, "more than 2147483648")


def write_csv(path: Path, *rows: Iterable[object]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


@pytest.mark.parametrize("name", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES)
@pytest.mark.parametrize("where", ["region", "column", "root", "root-level", "groups"])
def test_hostile_names_are_only_data(where: str, name: str, run: Run, place: Path) -> None:
    column = name if where == "column" else "state"
    groups = name if where == "groups" else "groups"
    region = name if where == "region" else "GA"
    write_csv(place / "hostile.csv", [column, "size", groups], [region, 1, 5], ["other", 2, 6])
    more = [f"--{where}", name] if where in ("root", "root-level", "groups") else []
    with unchanged(place):
        outcome = run(*release(*more, source="hostile.csv", region=column))
        if outcome.code:
            check_refused(outcome, place)
            return
        assert outcome.err == ""
        hierarchy = tt.load("out").hierarchy
        assert hierarchy.levels == (name if where == "root-level" else "root", column)
        leaves = sorted([region, "other"])
        assert hierarchy.leaves == tuple((name if where == "root" else "all", leaf) for leaf in leaves)
        if where == "column" and name.startswith("[bold]"):
            assert name in outcome.out
        assert run("verify", "out").code == 0
        shutil.rmtree("out")


@pytest.mark.parametrize("key", [key for key in HOSTILE_NAMES if key not in ("parent", "long")])
def test_hostile_folder_names_are_only_names(key: str, run: Run, place: Path) -> None:
    name = HOSTILE_NAMES[key].replace("/", "|")
    before = list_all(place)
    outcome = run(*release(out=name))
    assert outcome.code == 0, outcome.err
    made = sorted({*list_all(place)} - {*before})
    assert [entry for entry in made if "/" not in entry] == [name]
    assert run("verify", name).code == 0


@pytest.mark.parametrize("name", ["quotes", "newline", "markup", "escape", "long"])
def test_unknown_hostile_columns_are_one_clear_error(name: str, run: Run, place: Path) -> None:
    hostile = HOSTILE_NAMES[name]
    check_refused(run(*release(region=hostile)), place, "no column")
    write_csv(place / "hostile.csv", [f"{hostile}{i}" for i in range(40)], list(range(40)))
    check_refused(run(*release(source="hostile.csv")), place, "none of the columns")
    write_csv(place / "hostile.csv", ["size", *(f"{hostile}{i}" for i in range(40))], list(range(41)))
    check_refused(run(*release(source="hostile.csv")), place, "no column 'state'")


@pytest.mark.parametrize("when", ["first table", "second table", "manifest", "flush", "before"])
def test_full_disk_leaves_nothing_behind(
    when: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def write_some(parts: Any, schema: Any, where: Path) -> str:
        written.append(where)
        if len(written) == {"first table": 1, "second table": 2}.get(when):
            where.write_bytes(b"half")
            full_disk()
        return write_file(parts, schema, where)

    monkeypatch.setattr(releases, "write_file", write_some)
    if when == "manifest":
        monkeypatch.setattr(Path, "write_bytes", full_disk)
    if when == "flush":
        monkeypatch.setattr(os, "fsync", full_disk)
    if when == "before":
        monkeypatch.setattr(Path, "mkdir", full_disk)
    with unchanged(place):
        check_refused(run(*release()), place, "'out' cannot be written: No space left on device")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where even root may not write")
def test_a_place_that_cannot_be_written_to_is_refused_before_noise_is_drawn(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactNoise, "draw", no_noise)
    check_refused(run(*release(out="/proc/out")), place, "cannot be written")


def interrupt(*args: object) -> None:
    raise KeyboardInterrupt


def send_interrupt(*args: object) -> None:
    signal.raise_signal(signal.SIGINT)


def terminate(*args: object) -> None:
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("stop", "code"),
    [(interrupt, 130), (send_interrupt, 130), (terminate, 143)],
    ids=["exception", "interrupt", "terminate"],
)
def test_an_interruption_leaves_nothing_behind(
    stop: Callable[..., None], code: int, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactNoise, "draw", stop)
    with unchanged(place):
        check_ended(run(*release()), code)


@pytest.mark.parametrize("kind", [RuntimeError, AssertionError, RecursionError])
def test_a_fault_of_our_own_shows_nothing(
    kind: type[Exception], run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise kind(SECRET)

    monkeypatch.setattr(ExactNoise, "draw", fail)
    with unchanged(place):
        outcome = run(*release())
    check_ended(outcome, 70)
    assert outcome.err.startswith(f"Error: Something went wrong inside tallytree ({kind.__name__})")


def test_a_changed_count_fails_its_check(run: Run, place: Path) -> None:
    file = place / "released" / "release.parquet"
    table = pa_parquet.read_table(file)
    groups = table["groups"].to_numpy().copy()
    groups[0] += 1
    at = table.column_names.index("groups")
    pa_parquet.write_table(table.set_column(at, "groups", pa.array(groups)), file)
    outcome = run("verify", "released")
    assert outcome.code == 1
    assert outcome.err == ""
    for check in ("consistency", "faithfulness", "files"):
        assert re.search(rf"FAILED\s+{check}", outcome.out)
    assert re.search(r"ok\s+validity", outcome.out)
    failed = json.loads(run("verify", "released", "--json").out)
    assert not failed["passed"]


@pytest.mark.parametrize(
    "words", [["verify", "released"], ["mechanisms", "--json"], release()], ids=lambda words: words[0]
)
def test_a_reader_that_has_gone_is_no_failed_check(words: list[str], place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        outcome = run_process(place, *words, stdout=writer)
    finally:
        os.close(writer)
    assert outcome.code == 141
    assert outcome.err == ""
    if words[0] == "release":
        assert tt.load(place / "out").verify().passed


def check_truthful(outcome: Outcome, place: Path) -> None:
    """Either the release is there and nobody says otherwise, or it is not there at all."""
    assert "Traceback" not in outcome.err
    check_secrets(outcome.err)
    if (place / "out").exists():
        assert tt.load(place / "out").verify().passed
        assert "nothing was written" not in outcome.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["verify", "released"], release()], ids=["verify", "release"])
def test_output_onto_a_full_disk_is_an_error_that_tells_the_truth(words: list[str], place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = run_process(place, *words, stdout=full)
    check_truthful(outcome, place)
    check_refused(outcome, place)
    assert ("The release was written." in outcome.err) == (place / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_summary_onto_a_full_disk_says_what_was_spent_for_the_release(run: Run, place: Path) -> None:
    assert run("ledger", "create", "ledger.db", "--dataset", "census", "--epsilon", "1").code == 0
    with Path("/dev/full").open("w") as full:
        outcome = run_process(place, *release("--ledger", "ledger.db"), stdout=full)
    check_refused(outcome, place, "Epsilon 1 was spent as entry 2, and the release was written")
    assert tt.load(place / "out").verify().passed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_messages_onto_a_full_disk_keep_their_exit_code(place: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert run_process(place, "verify", "no", stderr=full).code == 2


@pytest.mark.parametrize(
    ("setup", "more"),
    [
        ("import os; os.close(1); import sys; sys.stdout = None", []),
        ("import sys; sys.stdout.reconfigure(encoding='ascii')", ["--root-level", "Größe"]),
        ("import sys; sys.stdout.reconfigure(encoding='ascii')", ["--json", "--root", "東京"]),
    ],
    ids=["closed", "ascii", "ascii-json"],
)
def test_output_that_cannot_be_shown_does_not_spoil_a_release(
    setup: str, more: list[str], place: Path
) -> None:
    outcome = run_process(place, *release(*more), setup=setup)
    check_truthful(outcome, place)
    assert outcome.code == 0, outcome.err
