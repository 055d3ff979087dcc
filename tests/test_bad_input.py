"""Wrong input through Python: one clear error of the right class, and nothing of the data in it."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallytree
from tallytree.errors import (
    CountsError,
    FolderError,
    HierarchyError,
    InputError,
    MechanismError,
    PrivacyError,
)
from tests.bad_input_support import (
    COUNT,
    CSV,
    ROWS,
    SECRET,
    Bench,
    Calls,
    Case,
    closed_bench,
    cut,
    garble,
    list_cases,
    move_into_folder,
    not_utf8,
)

tt: Any = tallytree
"""Untyped here: most of these calls have wrong types, on purpose."""

LEVELS = ["nation", "state"]
H = tallytree.Hierarchy.from_paths(LEVELS, [("US", "GA"), ("US", "NY")])
OTHER = tallytree.Hierarchy.from_paths(LEVELS, [("US", "GA"), ("US", "TX")])
COUNTS = tallytree.GroupCounts(H, (1, 2), [[1, 2], [3, COUNT]])
DIRECT: Any = tallytree.mechanism("direct-dp")
PLAN: Any = DIRECT.plan(H, sizes=(1, 2), epsilon="1")
VALUES = [np.zeros((1, 2), dtype=np.int64), np.zeros((2, 2), dtype=np.int64)]
NOISY: Any = tallytree.Measurements(PLAN, VALUES)
TWO = ("state", "county")
SPLIT: dict[str, list[Any]] = {"size": [1, 2], "groups": [1, COUNT]}


def tree(*paths: Any, levels: Any = LEVELS, **options: Any) -> object:
    return tt.Hierarchy.from_paths(levels, paths, **options)


def count(leaf: Any = ((1, 2), (3, COUNT)), *, sizes: Any = (1, 2), hierarchy: Any = H) -> object:
    return tt.GroupCounts(hierarchy, sizes, leaf)


def read(table: Any, *, regions: Any = ("state",), **options: Any) -> object:
    return tt.GroupCounts.from_table(table, regions=regions, **options)


def rows(**columns: Any) -> dict[str, Any]:
    return {**ROWS, **columns}


def plan(epsilon: Any = "1", **options: Any) -> object:
    return DIRECT.plan(H, **{"sizes": (1, 2), "epsilon": epsilon, **options})


def release(**options: Any) -> Any:
    return tt.release(**{"counts": COUNTS, "epsilon": "1", **options})


def save(folder: Any) -> None:
    release().save(folder, replicates=0)


HIERARCHY: Calls = {
    "no-paths": (lambda b: tree(), "no paths were given"),
    "paths-none": (lambda b: tt.Hierarchy.from_paths(LEVELS, None), "path"),
    "path-none": (lambda b: tree(None), "path"),
    "path-number": (lambda b: tree(3), "path"),
    "path-text": (lambda b: tree("US"), "sequence of names"),
    "path-empty": (lambda b: tree(()), "path is empty"),
    "path-long": (lambda b: tree(("US", "GA", "x")), "3 names.* only 2 levels"),
    "path-twice": (lambda b: tree(("US", "GA"), ("US", "GA")), "more than once"),
    "name-empty": (lambda b: tree(("US", "")), "empty name"),
    "name-blank": (lambda b: tree(("US", " \t")), "empty name"),
    "name-number": (lambda b: tree(("US", 13)), "names .text."),
    "name-none": (lambda b: tree(("US", None)), "names .text."),
    "name-surrogate": (lambda b: tree(("US", "\ud800")), "name"),
    "two-roots": (lambda b: tree(("US", "GA"), ("CA", "BC")), "one root.* start at 2"),
    "inner-leaf": (lambda b: tree(("US",), ("US", "GA")), "as a leaf, but .* below it"),
    "level-unused": (lambda b: tree(("US",)), "No path reaches level 'state'"),
    "level-twice": (lambda b: tree(("a", "b"), levels=["x", "x"]), "the same name"),
    "level-empty": (lambda b: tree(("a", "b"), levels=["x", ""]), "empty name"),
    "level-number": (lambda b: tree(("a", "b"), levels=["x", 2]), "list of names"),
    "levels-text": (lambda b: tree(("a", "b"), levels="ab"), "list of names"),
    "levels-none": (lambda b: tree(("a", "b"), levels=None), "levels"),
    "no-levels": (lambda b: tree(("a", "b"), levels=[]), "at least one level"),
    "two-parents": (
        lambda b: tree(("r", "a", "x"), ("r", "b", "x"), levels=["1", "2", "3"], unique_names=True),
        "'x' of level '3' has two parents",
    ),
    "level-unknown": (lambda b: H.index("stat"), "did you mean 'state'"),
    "level-unknown-regions": (lambda b: H.regions("x"), "there is 'nation', 'state'"),
    "level-above": (lambda b: H.regions(2), "There is no level 2: there are 2"),
    "level-below": (lambda b: H.parents(-3), "There is no level -3"),
    "level-float": (lambda b: tt.Hierarchy.index(H, 1.5), "level"),
    "level-none": (lambda b: tt.Hierarchy.regions(H, None), "level"),
    "region-level-unused": (
        lambda b: read({"state": ["GA", SECRET], "county": [None, None], **SPLIT}, regions=TWO),
        "No path reaches level 'county'",
    ),
    "root-level-taken": (lambda b: read(ROWS, root_level="state"), "the same name"),
    "release-level-size": (
        lambda b: release(counts=count([[1, 2]], hierarchy=tree(("a", "b"), levels=["nation", "size"]))),
        "may not be called 'size'",
    ),
}


COUNTED: Calls = {
    "counts-negative": (lambda b: count([[1, -COUNT], [0, 0]]), "1 of the counts are neg"),
    "counts-fraction": (lambda b: count([[1, COUNT + 0.5], [0, 0]]), "1 fractions"),
    "counts-nan": (lambda b: count([[COUNT, np.nan], [0, 0]]), "1 NaN or infinite"),
    "counts-infinite": (lambda b: count([[COUNT, np.inf], [0, 0]]), "1 NaN or infinite"),
    "counts-shape": (lambda b: count([[COUNT, 2, 3]]), r"shape \(1, 3\); 2 leaves x 2"),
    "counts-flat": (lambda b: count([COUNT, 2, 3, 4]), r"shape \(4,\)"),
    "counts-text": (lambda b: count([[SECRET, "2"], ["3", "4"]]), "whole numbers"),
    "counts-bool": (lambda b: count([[True, False], [True, False]]), "whole numbers"),
    "counts-none": (lambda b: count(None), "whole numbers"),
    "counts-ragged": (lambda b: count([[COUNT], [1, 2]]), "not a rectangular array"),
    "counts-complex": (lambda b: count([[1j, 2], [3, COUNT]]), "whole numbers"),
    "counts-huge": (lambda b: count([[2**39 + 1, 0], [0, 0]]), "more than 549755813888"),
    "counts-huge-sum": (lambda b: count([[2**39, 1], [0, 0]]), "more than 549755813888"),
    "counts-huge-float": (lambda b: count([[1e300, 0], [0, 0]]), "beyond 549755813888"),
    "counts-64-bit": (lambda b: count([[2**64 - 1, 0], [0, 0]]), "beyond 549755813888"),
    "counts-over-64-bit": (lambda b: count([[2**70, 0], [0, 0]]), "go beyond"),
    "counts-hierarchy": (lambda b: count(hierarchy=LEVELS), "tallytree.Hierarchy"),
    "sizes-reversed": (lambda b: count(sizes=(2, 1)), "are not a range"),
    "sizes-negative": (lambda b: count(sizes=(-1, 0)), "are not a range"),
    "sizes-three": (lambda b: count(sizes=(1, 2, 3)), "pair of whole numbers"),
    "sizes-one": (lambda b: count(sizes=5), "pair of whole numbers"),
    "sizes-float": (lambda b: count(sizes=(1.0, 2.0)), "pair of whole numbers"),
    "sizes-bool": (lambda b: count(sizes=(True, 2)), "pair of whole numbers"),
    "sizes-text": (lambda b: count(sizes="12"), "pair of whole numbers"),
    "sizes-none": (lambda b: count(sizes=None), "pair of whole numbers"),
    "sizes-many": (lambda b: count(sizes=(1, 2**20 + 1)), "more than 1048576"),
    "sizes-over-64-bit": (lambda b: count(sizes=(2**63 - 1, 2**63)), "sizes"),
    "sizes-1000-digits": (lambda b: count(sizes=(0, 10**1000)), "sizes"),
    "sizes-5000-digits": (lambda b: count(sizes=(0, 10**5000)), "sizes"),
    "plan-sizes": (lambda b: plan(sizes=(3, 1)), "not a range"),
    "answers-hierarchy": (lambda b: PLAN.answers(count(hierarchy=OTHER)), "other hierarchy"),
    "answers-in-parts": (lambda b: list(PLAN.answer_in_parts(count(hierarchy=OTHER), 0)), "other hierarchy"),
    "answers-sizes": (lambda b: PLAN.answers(count(sizes=(0, 1))), "sizes 0 to 1, the plan on 1 to 2"),
    "answers-none": (lambda b: PLAN.answers(None), "[Cc]ounts"),
    "release-array": (lambda b: release(counts=COUNTS.leaf), "must be a tallytree.GroupCounts"),
    "simulate-array": (lambda b: tt.simulate(COUNTS.leaf, epsilon="1", seed=1), "GroupCounts"),
    "evaluate-regions": (
        lambda b: tt.evaluate(tt.simulate(COUNTS, epsilon="1", seed=1), count(hierarchy=OTHER)),
        "other regions or sizes",
    ),
}

TABLES: Calls = {
    "column-missing": (lambda b: read(ROWS, regions=["stat"]), "did you mean 'state'"),
    "column-none": (lambda b: read(ROWS, size=None), "column"),
    "column-twice": (lambda b: read(ROWS, regions=["state", "state"]), "'state'"),
    "column-both": (lambda b: read(ROWS, size="groups"), "'groups'"),
    "column-region-size": (lambda b: read(ROWS, regions=["state", "size"]), "'size'"),
    "column-ambiguous": (
        lambda b: read(pa.table(ROWS).append_column("groups", pa.array([1, COUNT]))),
        "two columns 'groups'",
    ),
    "regions-text": (lambda b: read(ROWS, regions="state"), "list of names"),
    "regions-number": (lambda b: read(ROWS, regions=[1]), "list of names"),
    "regions-none": (lambda b: read(ROWS, regions=None), "region columns"),
    "no-columns": (lambda b: read(pd.DataFrame()), "none of the columns 'state'"),
    "no-rows": (lambda b: read(pa.table(ROWS).slice(0, 0)), "no rows"),
    "groups-negative": (lambda b: read(rows(groups=[1, -COUNT])), "row 2.*'groups' is neg"),
    "groups-fraction": (lambda b: read(rows(groups=[COUNT + 0.5, 1])), "'groups'.*fractions"),
    "groups-nan": (lambda b: read(rows(groups=[COUNT, np.nan])), "'groups' hold 1 NaN"),
    "groups-infinite": (lambda b: read(rows(groups=[COUNT, np.inf])), "'groups' hold 1 NaN"),
    "groups-null": (lambda b: read(rows(groups=[COUNT, None])), "'groups' has 1 missing"),
    "groups-text": (lambda b: read(rows(groups=["1", SECRET])), "'groups'.*holds string"),
    "groups-bool": (lambda b: read(rows(groups=[True, False])), "'groups'.*holds bool"),
    "groups-list": (lambda b: read(rows(groups=[[COUNT], [1]])), "'groups'.*holds list"),
    "groups-huge": (lambda b: read(rows(groups=[2**39, COUNT])), "more than 549755813888"),
    "groups-over-64-bit": (lambda b: read(rows(groups=[COUNT, 2**70])), "."),
    "size-null": (lambda b: read(rows(size=[None, 2])), "'size' has 1 missing"),
    "size-fraction": (lambda b: read(rows(size=[1.5, COUNT])), "'size' hold 1 fractions"),
    "size-outside": (lambda b: read(rows(size=[1, COUNT]), sizes=(1, 9)), "row 2.*1 to 9"),
    "size-negative": (lambda b: read(rows(size=[1, -COUNT])), "size"),
    "size-huge": (lambda b: read(rows(size=[1, COUNT * 10**6])), "size"),
    "region-empty": (lambda b: read(rows(state=[SECRET, ""])), "row 2.*empty name"),
    "region-blank": (lambda b: read(rows(state=[SECRET, " "])), "row 2.*empty name"),
    "region-float": (lambda b: read(rows(state=[1.5, COUNT])), "'state' holds double"),
    "region-bool": (lambda b: read(rows(state=[True, False])), "'state' holds bool"),
    "region-bytes": (lambda b: read(rows(state=[b"1", SECRET.encode()])), "holds binary"),
    "region-not-utf8": (lambda b: read(rows(state=not_utf8([b"GA", SECRET.encode() + b"\xff"]))), "'state'"),
    "region-surrogate": (lambda b: read(pd.DataFrame(rows(state=[SECRET, "\ud800"]), dtype=object)), "."),
    "region-inner": (
        lambda b: read({"state": [SECRET, SECRET], "county": ["x", None], **SPLIT}, regions=TWO),
        "row 2.*not a leaf",
    ),
    "region-below-missing": (
        lambda b: read({"state": ["GA", None], "county": ["x", SECRET], **SPLIT}, regions=TWO),
        "row 2.*'county' has a name, but the column of the level above it is empty",
    ),
    "region-unknown": (lambda b: read(ROWS, hierarchy=H, root="US"), "row 2.*not a leaf"),
    "rows-twice": (lambda b: read(rows(state=[SECRET] * 2, size=[2, 2])), "row 2.*earlier"),
    "root-empty": (lambda b: read(rows(state=[SECRET, "x"]), root=""), "root must have a name"),
    "root-number": (lambda b: read(ROWS, root=3), "root must have a name"),
    "table-hierarchy": (lambda b: read(ROWS, hierarchy="US"), "[Hh]ierarchy"),
    "table-none": (lambda b: read(None), "NoneType cannot be read as a table"),
    "table-number": (lambda b: read(COUNT), "int cannot be read as a table"),
    "table-list": (lambda b: read([SECRET, COUNT]), "list cannot be read as a table"),
    "table-ragged": (lambda b: read(rows(groups=[COUNT])), "cannot be read as a table"),
    "table-mixed": (lambda b: read(pd.DataFrame(rows(groups=pd.Series([COUNT, SECRET], dtype=object)))), "."),
    "table-objects": (
        lambda b: read(pl.DataFrame(rows(groups=pl.Series([COUNT, object()], dtype=pl.Object)))),
        "'groups'",
    ),
}

FILES: Calls = {
    "file-missing": (lambda b: read(b.folder / "no.csv"), "There is no file .*no.csv"),
    "file-missing-parquet": (lambda b: read(b.folder / "no.parquet"), "There is no file"),
    "file-below-file": (lambda b: read(b.file("x", "") / "no.csv"), "cannot be read|no file"),
    "file-folder": (lambda b: read(b.folder), "is a folder"),
    "file-empty-name": (lambda b: read(""), "is a folder"),
    "file-long-name": (lambda b: read(b.folder / ("x" * 300 + ".csv")), "name too long|no file"),
    "file-null-name": (lambda b: read(b.folder / "x\0.csv"), "cannot be read|no file"),
    "file-newline-name": (lambda b: read(b.folder / "x\ny.csv"), "There is no file"),
    "file-ending": (lambda b: read(b.file("c.xlsx", CSV)), "neither a CSV nor a Parquet"),
    "csv-empty": (lambda b: read(b.file("c.csv", "")), "cannot be read|empty|no rows"),
    "csv-header-only": (lambda b: read(b.file("c.csv", "state,size,groups\n")), "no rows"),
    "csv-no-header": (lambda b: read(b.file("c.csv", f"{SECRET},1,{COUNT}\n")), "column"),
    "csv-ragged": (lambda b: read(b.file("c.csv", CSV + f"{SECRET},3\n")), "cannot be read"),
    "csv-quote": (lambda b: read(b.file("c.csv", CSV + f'"{SECRET},3,4\n')), "cannot be read"),
    "csv-latin": (lambda b: read(b.file("c.csv", (CSV + "é,3,4").encode("latin-1"))), "UTF-8"),
    "csv-latin-header": (
        lambda b: read(b.file("c.csv", ("é," + CSV.replace("\n", "\nx,", 2)).encode("latin-1"))),
        "not UTF-8",
    ),
    "csv-utf16": (lambda b: read(b.file("c.csv", CSV.encode("utf-16"))), "."),
    "csv-text": (lambda b: read(b.file("c.csv", CSV + f"NY,1,{SECRET}\n")), "holds string"),
    "csv-nan": (lambda b: read(b.file("c.csv", CSV + "NY,1,NaN\n")), "1 NaN or infinite"),
    "csv-huge": (lambda b: read(b.file("c.csv", CSV + f"NY,1,{COUNT}{10**30}\n")), "beyond"),
    "csv-damaged-gzip": (lambda b: read(b.file("c.csv.gz", CSV)), "cannot be read"),
    "parquet-empty": (lambda b: read(b.file("c.parquet", "")), "cannot be read"),
    "parquet-text": (lambda b: read(b.file("c.parquet", CSV)), "cannot be read"),
    "parquet-cut": (
        lambda b: read(b.file("d.parquet", b.parquet(ROWS).read_bytes()[:-30])),
        "cannot be read",
    ),
    "parquet-column": (lambda b: read(b.parquet(ROWS), size="sise"), "did you mean 'size'"),
    "parquet-not-utf8": (
        lambda b: read(b.parquet(rows(state=not_utf8([b"GA", SECRET.encode() + b"\xff"])))),
        "'state'|read",
    ),
}


PRIVACY: Calls = {
    "epsilon-float": (lambda b: plan(0.1), 'float.*give it as text, such as "0.1"'),
    "epsilon-zero": (lambda b: plan("0"), "must be above zero"),
    "epsilon-zero-int": (lambda b: plan(0), "must be above zero"),
    "epsilon-negative": (lambda b: plan("-0.5"), "must be above zero"),
    "epsilon-text": (lambda b: plan("one"), "not a number: 'one'"),
    "epsilon-empty": (lambda b: plan(""), "not a number: ''"),
    "epsilon-nan": (lambda b: plan("nan"), "not a number"),
    "epsilon-nan-decimal": (lambda b: plan(Decimal("nan")), "not a number"),
    "epsilon-infinite": (lambda b: plan("inf"), "not a number"),
    "epsilon-bool": (lambda b: plan(True), "must be text"),
    "epsilon-none": (lambda b: plan(None), "Give the budget"),
    "epsilon-list": (lambda b: plan(["1"]), "must be text"),
    "epsilon-divided": (lambda b: plan("1/0"), "not a number"),
    "epsilon-10000-characters": (lambda b: plan("1" * 10_000), "longer than 40"),
    "epsilon-exponent": (lambda b: plan("1e-9999999999"), "more than 40 digits"),
    "epsilon-exponent-up": (lambda b: plan("1e9999999999"), "more than 40 digits"),
    "epsilon-many-digits": (lambda b: plan(10**50), "more than 40 digits"),
    "epsilon-5000-digits": (lambda b: plan(-(10**5000)), "epsilon"),
    "epsilon-tiny": (lambda b: plan("1e-30"), "too small at level 'nation'"),
    "budget-unknown": (lambda b: plan(budget={"stat": 1}), "did you mean 'state'"),
    "budget-missing": (lambda b: plan(budget={"state": 1}), "no weight to level 'nation'"),
    "budget-zero": (lambda b: plan(budget={"nation": 0, "state": 1}), "above zero"),
    "budget-negative": (lambda b: plan(budget={"nation": 2, "state": "-1"}), "above zero"),
    "budget-float": (lambda b: plan(budget={"nation": 0.5, "state": 1}), "is a float"),
    "budget-list": (lambda b: plan(budget=[1, 2]), "weight for each level"),
    "budget-empty": (lambda b: plan(budget={}), "no weight to level 'nation'"),
    "bounds-zero": (lambda b: tt.Bounds(max_records=0), "max_records.*1 to 1048576"),
    "bounds-float": (lambda b: tt.Bounds(max_quantity=1.0), "max_quantity.*whole number"),
    "bounds-huge": (lambda b: tt.Bounds(max_quantity=2**21), "max_quantity.*1 to 1048576"),
    "bounds-bool": (lambda b: tt.Bounds(max_records=True), "max_records.*whole number"),
    "plan-bounds": (lambda b: plan(bounds="1"), "[Bb]ounds"),
    "seed-negative": (lambda b: tt.simulate(COUNTS, epsilon="1", seed=-1), "seed"),
    "seed-float": (lambda b: tt.simulate(COUNTS, epsilon="1", seed=1.0), "seed"),
    "counts-bounds": (lambda b: tt.GroupCounts(H, (1, 2), COUNTS.leaf, bounds="1"), "[Bb]ounds"),
    "table-bounds": (lambda b: read(ROWS, bounds="1"), "[Bb]ounds"),
    "release-epsilon": (lambda b: release(epsilon=1.0), "is a float"),
}

MECHANISMS: Calls = {
    "mechanism-unknown": (lambda b: tt.mechanism("direct_dp"), "did you mean 'direct-dp'"),
    "mechanism-none": (lambda b: tt.mechanism(None), "no mechanism 'None'"),
    "mechanism-list": (lambda b: tt.mechanism(["direct-dp"]), "no mechanism"),
    "option-unknown": (lambda b: tt.mechanism("direct-dp", solvr="x"), "mean 'solver'"),
    "solver-unknown": (lambda b: tt.mechanism("direct-dp", solver="table"), "'tables'"),
    "solver-list": (lambda b: tt.mechanism("direct-dp", solver=[]), "no solver"),
    "values-few": (lambda b: tt.Measurements(PLAN, VALUES[:1]), "1 arrays.* for 2 levels"),
    "values-none": (lambda b: tt.Measurements(PLAN, None), "values|arrays"),
    "values-shape": (lambda b: tt.Measurements(PLAN, VALUES[::-1]), "'nation'.*shape"),
    "values-ragged": (lambda b: tt.Measurements(PLAN, [[[1], [1, 2]], VALUES[1]]), "'nation'"),
    "values-floats": (
        lambda b: tt.Measurements(PLAN, [VALUES[0], VALUES[1] + 0.5]),
        "'state' must be whole numbers",
    ),
    "values-huge": (
        lambda b: tt.Measurements(PLAN, [VALUES[0] - 2**40, VALUES[1]]),
        "'nation' go beyond 549755813888",
    ),
    "values-plan": (lambda b: tt.Measurements("plan", VALUES), "[Pp]lan"),
    "not-measurements": (lambda b: DIRECT.postprocess(VALUES, total=1), "Measurements and"),
    "total-negative": (lambda b: DIRECT.postprocess(NOISY, total=-1), "total must be"),
    "total-float": (lambda b: DIRECT.postprocess(NOISY, total=1.0), "total must be"),
    "total-bool": (lambda b: DIRECT.postprocess(NOISY, total=True), "total must be"),
    "total-none": (lambda b: DIRECT.postprocess(NOISY, total=None), "total must be"),
    "total-huge": (lambda b: DIRECT.postprocess(NOISY, total=2**39 + 1), "total must be"),
    "release-mechanism": (lambda b: release(mechanism="direct"), "no mechanism 'direct'"),
}

RELEASE, MEASURED, MANIFEST = "release.parquet", "measurements.parquet", "manifest.json"


FOLDERS: Calls = {
    "load-none": (lambda b: tt.load(None), "folder"),
    "load-missing": (lambda b: tt.load(b.folder / "no"), "no release folder .*no"),
    "load-file": (lambda b: tt.load(b.file("x", "")), "no release folder"),
    "load-long-name": (lambda b: tt.load(b.folder / ("x" * 300)), "folder|too long"),
    "load-newline-name": (lambda b: tt.load(b.folder / "x\ny"), "no release folder"),
    "load-empty": (lambda b: tt.load(b.folder), "manifest.json is missing"),
    "load-no-counts": (lambda b: b.load_after(RELEASE, Path.unlink), "release.parquet is miss"),
    "load-no-noisy": (lambda b: b.load_after(MEASURED, Path.unlink), "measurements.parquet is"),
    "manifest-empty": (lambda b: b.load_manifest(b""), "damaged"),
    "manifest-not-json": (lambda b: b.load_manifest(SECRET.encode()), "damaged"),
    "manifest-not-text": (lambda b: b.load_manifest(b"\xff\xfe\x00"), "not UTF-8"),
    "manifest-list": (lambda b: b.load_manifest(b"[]"), "damaged"),
    "manifest-number": (lambda b: b.load_manifest(b"3"), "damaged"),
    "manifest-deep": (lambda b: b.load_manifest(b"[" * 100_000), "damaged"),
    "manifest-other": (lambda b: b.load_manifest(b"{}"), "damaged"),
    "counts-garbage": (lambda b: b.load_after(RELEASE, garble), "damaged"),
    "noisy-garbage": (lambda b: b.load_after(MEASURED, garble), "damaged"),
    "counts-cut": (lambda b: b.load_after(RELEASE, cut), "damaged"),
    "noisy-cut": (lambda b: b.load_after(MEASURED, cut), "damaged"),
    "counts-in-folder": (lambda b: b.load_after(RELEASE, move_into_folder), "."),
    "noisy-in-folder": (lambda b: b.load_after(MEASURED, move_into_folder), "."),
    "counts-column": (lambda b: b.load_table(RELEASE, lambda t: t.drop(["groups"])), "damaged"),
    "noisy-column": (lambda b: b.load_table(MEASURED, lambda t: t.drop(["state"])), "damaged"),
    "noisy-rows": (lambda b: b.load_table(MEASURED, lambda t: t.slice(1)), "it has 8 rows, not 9"),
    "save-folder": (lambda b: save(b.folder), "exists already"),
    "save-file": (lambda b: save(b.file("x", "")), "exists already"),
    "save-below-file": (lambda b: save(b.file("x", "") / "y"), "cannot be written: Not a directory"),
    "save-long-name": (lambda b: save(b.folder / ("x" * 300)), "name too long"),
    "save-null-name": (lambda b: save(b.folder / "x\0y"), "cannot be written"),
    "save-none": (lambda b: save(None), "folder|path"),
}


OTHERS: Calls = {
    "plan-hierarchy": (lambda b: DIRECT.plan("US", sizes=(1, 2), epsilon="1"), "ierarchy"),
    "evaluate-none": (lambda b: tt.evaluate(None, COUNTS), "."),
}

MANIFESTS: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "manifest-format": (("format",), "tallytree-release-0", "another format"),
    "manifest-files-none": (("files",), None, "damaged"),
    "manifest-files-list": (("files",), [], "damaged"),
    "manifest-files-text": (("files",), "", "damaged"),
    "manifest-data-list": (("data",), [], "damaged"),
    "manifest-levels-text": (("data", "levels"), "root", "damaged"),
    "manifest-levels-twice": (("data", "levels"), ["root", "root"], "."),
    "manifest-levels-other": (("data", "levels"), ["a", "b"], "damaged"),
    "manifest-sizes-reversed": (("data", "sizes"), [3, 1], "damaged"),
    "manifest-sizes-other": (("data", "sizes"), [1, 2], "."),
    "manifest-sizes-huge": (("data", "sizes"), [2**70, 2**70 + 2], "."),
    "manifest-total-text": (("data", "total"), str(COUNT), "damaged"),
    "manifest-total-bool": (("data", "total"), True, "damaged"),
    "manifest-total-negative": (("data", "total"), -1, "damaged"),
    "manifest-total-huge": (("data", "total"), 2**70, "damaged"),
    "manifest-privacy-none": (("privacy",), None, "damaged"),
    "manifest-epsilon-divided": (("privacy", "epsilon"), "1/0", "damaged"),
    "manifest-epsilon-huge": (("privacy", "epsilon"), "1" + "0" * 400, "damaged"),
    "manifest-bounds-zero": (("privacy", "max_records"), 0, "damaged"),
    "manifest-plan-none": (("privacy", "levels"), None, "damaged"),
    "manifest-plan-empty": (("privacy", "levels"), [], "other levels"),
    "manifest-scale-text": (("privacy", "levels", 0, "scale"), "x", "damaged"),
    "manifest-scale-huge": (("privacy", "levels", 0, "scale"), "1" + "0" * 40, "damaged"),
    "manifest-scale-tiny": (("privacy", "levels", 0, "scale"), "1/1" + "0" * 400, "damaged"),
    "manifest-query-unknown": (("privacy", "levels", 0, "query"), "x", "damaged"),
}

CELLS: dict[str, tuple[str, str, object, str]] = {
    "cell-counts-region-unknown": (RELEASE, "root", "x", "region that was not measured"),
    "cell-counts-region-null": (RELEASE, "root", None, "leaves out a region"),
    "cell-counts-region-below-level": (RELEASE, "state", "TX", "."),
    "cell-counts-level-unknown": (RELEASE, "level", "county", "[Aa] row has an unknown level"),
    "cell-counts-level-null": (RELEASE, "level", None, "values are missing"),
    "cell-counts-size-outside": (RELEASE, "size", 99, "size that is not among 1 to 3"),
    "cell-counts-size-null": (RELEASE, "size", None, "values are missing"),
    "cell-counts-null": (RELEASE, "groups", None, "values are missing"),
    "cell-counts-huge": (RELEASE, "groups", 2**62, "number beyond"),
    "cell-counts-far-below": (RELEASE, "groups", -(2**63), "number beyond"),
    "cell-noisy-region-below-level": (MEASURED, "state", "TX", "does not fit its level"),
    "cell-noisy-level-unknown": (MEASURED, "level", "county", "does not fit its level"),
    "cell-noisy-size-null": (MEASURED, "size", None, "."),
    "cell-noisy-null": (MEASURED, "measured", None, "."),
    "cell-noisy-huge": (MEASURED, "measured", 2**62, "."),
}


def with_manifest(*keys: str | int, value: object) -> Callable[[Bench], object]:
    return lambda b: b.load_manifest_with(*keys, value=value)


def with_cell(file: str, column: str, value: object) -> Callable[[Bench], object]:
    return lambda b: b.load_cell(file, column, value)


def with_bytes(column: str) -> Callable[[Bench], object]:
    def change(table: pa.Table) -> pa.Table:
        wrong = not_utf8([b"\xff"] * table.num_rows)
        return table.set_column(table.column_names.index(column), column, wrong)

    return lambda b: b.load_table(RELEASE, change)


SPOILED: Calls = {
    **{name: (with_manifest(*keys, value=value), words) for name, (keys, value, words) in MANIFESTS.items()},
    **{name: (with_cell(file, column, value), words) for name, (file, column, value, words) in CELLS.items()},
    **{f"not-utf8-{column}": (with_bytes(column), RELEASE) for column in ("root", "level")},
}

CASES = list_cases(
    (HierarchyError, HIERARCHY),
    (CountsError, COUNTED),
    (CountsError, TABLES),
    (CountsError, FILES),
    (PrivacyError, PRIVACY),
    (MechanismError, MECHANISMS),
    (FolderError, FOLDERS),
    (FolderError, SPOILED),
    (InputError, OTHERS),
)


@pytest.mark.parametrize("case", CASES)
def test_wrong_input_is_one_clear_error(case: Case, bench: Bench) -> None:
    case.check(bench)


CLOSED: dict[str, tuple[int, Callable[[Bench], object], type[InputError], str]] = {
    "csv-below": (0o000, lambda b: read(b.folder / "in" / "c.csv"), CountsError, "No permission to read"),
    "csv": (0o700, lambda b: read(b.folder / "in" / "c.csv"), CountsError, "No permission to read"),
    "load": (0o000, lambda b: tt.load(b.folder / "in"), FolderError, "Permission denied"),
    "load-below": (0o000, lambda b: tt.load(b.folder / "in/x"), FolderError, "Permission denied"),
    "save": (0o500, lambda b: save(b.folder / "in" / "x"), FolderError, "Permission denied"),
}


@pytest.mark.parametrize(("mode", "act", "error", "words"), CLOSED.values(), ids=CLOSED)
def test_no_permission_is_one_clear_error(
    mode: int, act: Callable[[Bench], object], error: type[InputError], words: str, bench: Bench
) -> None:
    read(ROWS)
    release()  # all that is loaded late is loaded now, while it can be read
    with closed_bench(bench, mode, "c.csv") as closed:
        Case(act, words, error).check(closed)
