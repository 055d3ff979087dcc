"""Wrong input through Python: one clear error of the right class, and nothing of the data in it."""

import os
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
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
    check_message,
    check_secrets,
    cut,
    garble,
    list_all,
    make_release,
    move_into_folder,
    not_utf8,
)

tt: Any = tallytree
"""Untyped here: most of these calls have wrong types, on purpose."""

Case = tuple[str, Callable[[Bench], object], type[InputError], str]
"""An id, what is done, the error that it must give, and a regular expression of its message."""

LEVELS = ["nation", "state"]
H = tallytree.Hierarchy.from_paths(LEVELS, [("US", "GA"), ("US", "NY")])
OTHER = tallytree.Hierarchy.from_paths(LEVELS, [("US", "GA"), ("US", "TX")])
COUNTS = tallytree.GroupCounts(H, (1, 2), [[1, 2], [3, COUNT]])
DIRECT: Any = tallytree.mechanism("direct-dp")
PLAN: Any = DIRECT.plan(H, sizes=(1, 2), epsilon="1")
VALUES = [np.zeros((1, 2), dtype=np.int64), np.zeros((2, 2), dtype=np.int64)]
NOISY: Any = tallytree.Measurements(PLAN, VALUES)


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


HIERARCHY: list[Case] = [
    ("no-paths", lambda b: tree(), HierarchyError, "no paths were given"),
    ("paths-none", lambda b: tt.Hierarchy.from_paths(LEVELS, None), HierarchyError, "path"),
    ("path-none", lambda b: tree(None), HierarchyError, "path"),
    ("path-number", lambda b: tree(3), HierarchyError, "path"),
    ("path-text", lambda b: tree("US"), HierarchyError, "sequence of names"),
    ("path-empty", lambda b: tree(()), HierarchyError, "path is empty"),
    ("path-long", lambda b: tree(("US", "GA", "x")), HierarchyError, "3 names.* only 2 levels"),
    ("path-twice", lambda b: tree(("US", "GA"), ("US", "GA")), HierarchyError, "more than once"),
    ("name-empty", lambda b: tree(("US", "")), HierarchyError, "empty name"),
    ("name-blank", lambda b: tree(("US", " \t")), HierarchyError, "empty name"),
    ("name-number", lambda b: tree(("US", 13)), HierarchyError, "names .text."),
    ("name-none", lambda b: tree(("US", None)), HierarchyError, "names .text."),
    ("name-surrogate", lambda b: tree(("US", "\ud800")), HierarchyError, "name"),
    ("two-roots", lambda b: tree(("US", "GA"), ("CA", "BC")), HierarchyError, "one root.* start at 2"),
    ("inner-leaf", lambda b: tree(("US",), ("US", "GA")), HierarchyError, "as a leaf, but .* below it"),
    ("level-unused", lambda b: tree(("US",)), HierarchyError, "No path reaches level 'state'"),
    ("level-twice", lambda b: tree(("a", "b"), levels=["x", "x"]), HierarchyError, "the same name"),
    ("level-empty", lambda b: tree(("a", "b"), levels=["x", ""]), HierarchyError, "empty name"),
    ("level-number", lambda b: tree(("a", "b"), levels=["x", 2]), HierarchyError, "list of names"),
    ("levels-text", lambda b: tree(("a", "b"), levels="ab"), HierarchyError, "list of names"),
    ("levels-none", lambda b: tree(("a", "b"), levels=None), HierarchyError, "levels"),
    ("no-levels", lambda b: tree(("a", "b"), levels=[]), HierarchyError, "at least one level"),
    (
        "two-parents",
        lambda b: tree(("r", "a", "x"), ("r", "b", "x"), levels=["1", "2", "3"], unique_names=True),
        HierarchyError,
        "'x' of level '3' has two parents",
    ),
    ("level-unknown", lambda b: H.index("stat"), HierarchyError, "did you mean 'state'"),
    ("level-unknown-regions", lambda b: H.regions("x"), HierarchyError, "there is 'nation', 'state'"),
    ("level-above", lambda b: H.regions(2), HierarchyError, "There is no level 2: there are 2"),
    ("level-below", lambda b: H.parents(-3), HierarchyError, "There is no level -3"),
    ("level-float", lambda b: tt.Hierarchy.index(H, 1.5), HierarchyError, "level"),
    ("level-none", lambda b: tt.Hierarchy.regions(H, None), HierarchyError, "level"),
]

COUNT_ARRAYS: list[Case] = [
    ("counts-negative", lambda b: count([[1, -COUNT], [0, 0]]), CountsError, "1 of the counts are neg"),
    ("counts-fraction", lambda b: count([[1, COUNT + 0.5], [0, 0]]), CountsError, "1 fractions"),
    ("counts-nan", lambda b: count([[COUNT, np.nan], [0, 0]]), CountsError, "1 NaN or infinite"),
    ("counts-infinite", lambda b: count([[COUNT, np.inf], [0, 0]]), CountsError, "1 NaN or infinite"),
    ("counts-shape", lambda b: count([[COUNT, 2, 3]]), CountsError, r"shape \(1, 3\); 2 leaves x 2"),
    ("counts-flat", lambda b: count([COUNT, 2, 3, 4]), CountsError, r"shape \(4,\)"),
    ("counts-text", lambda b: count([[SECRET, "2"], ["3", "4"]]), CountsError, "whole numbers"),
    ("counts-bool", lambda b: count([[True, False], [True, False]]), CountsError, "whole numbers"),
    ("counts-none", lambda b: count(None), CountsError, "whole numbers"),
    ("counts-ragged", lambda b: count([[COUNT], [1, 2]]), CountsError, "not a rectangular array"),
    ("counts-complex", lambda b: count([[1j, 2], [3, COUNT]]), CountsError, "whole numbers"),
    ("counts-huge", lambda b: count([[2**39 + 1, 0], [0, 0]]), CountsError, "more than 549755813888"),
    ("counts-huge-sum", lambda b: count([[2**39, 1], [0, 0]]), CountsError, "more than 549755813888"),
    ("counts-huge-float", lambda b: count([[1e300, 0], [0, 0]]), CountsError, "beyond 549755813888"),
    ("counts-64-bit", lambda b: count([[2**64 - 1, 0], [0, 0]]), CountsError, "beyond 549755813888"),
    ("counts-over-64-bit", lambda b: count([[2**70, 0], [0, 0]]), CountsError, "go beyond"),
    ("counts-hierarchy", lambda b: count(hierarchy=LEVELS), CountsError, "tallytree.Hierarchy"),
    ("sizes-reversed", lambda b: count(sizes=(2, 1)), CountsError, "are not a range"),
    ("sizes-negative", lambda b: count(sizes=(-1, 0)), CountsError, "are not a range"),
    ("sizes-three", lambda b: count(sizes=(1, 2, 3)), CountsError, "pair of whole numbers"),
    ("sizes-one", lambda b: count(sizes=5), CountsError, "pair of whole numbers"),
    ("sizes-float", lambda b: count(sizes=(1.0, 2.0)), CountsError, "pair of whole numbers"),
    ("sizes-bool", lambda b: count(sizes=(True, 2)), CountsError, "pair of whole numbers"),
    ("sizes-text", lambda b: count(sizes="12"), CountsError, "pair of whole numbers"),
    ("sizes-none", lambda b: count(sizes=None), CountsError, "pair of whole numbers"),
    ("sizes-many", lambda b: count(sizes=(1, 2**20 + 1)), CountsError, "more than 1048576"),
    ("sizes-over-64-bit", lambda b: count(sizes=(2**63 - 1, 2**63)), CountsError, "sizes"),
    ("sizes-1000-digits", lambda b: count(sizes=(0, 10**1000)), CountsError, "sizes"),
    ("sizes-5000-digits", lambda b: count(sizes=(0, 10**5000)), CountsError, "sizes"),
    (
        "counts-bounds",
        lambda b: tt.GroupCounts(H, (1, 2), COUNTS.leaf, bounds="1"),
        PrivacyError,
        "[Bb]ounds",
    ),
]

TWO = ("state", "county")
SPLIT: dict[str, list[Any]] = {"size": [1, 2], "groups": [1, COUNT]}

TABLES: list[Case] = [
    ("column-missing", lambda b: read(ROWS, regions=["stat"]), CountsError, "did you mean 'state'"),
    ("column-none", lambda b: read(ROWS, size=None), CountsError, "column"),
    ("column-twice", lambda b: read(ROWS, regions=["state", "state"]), CountsError, "'state'"),
    ("column-both", lambda b: read(ROWS, size="groups"), CountsError, "'groups'"),
    ("column-region-size", lambda b: read(ROWS, regions=["state", "size"]), CountsError, "'size'"),
    (
        "column-ambiguous",
        lambda b: read(pa.table(ROWS).append_column("groups", pa.array([1, COUNT]))),
        CountsError,
        "two columns 'groups'",
    ),
    ("regions-text", lambda b: read(ROWS, regions="state"), CountsError, "list of names"),
    ("regions-number", lambda b: read(ROWS, regions=[1]), CountsError, "list of names"),
    ("regions-none", lambda b: read(ROWS, regions=None), CountsError, "region columns"),
    ("no-columns", lambda b: read(pd.DataFrame()), CountsError, "none of the columns 'state'"),
    ("no-rows", lambda b: read(pa.table(ROWS).slice(0, 0)), CountsError, "no rows"),
    ("groups-negative", lambda b: read(rows(groups=[1, -COUNT])), CountsError, "row 2.*'groups' is neg"),
    ("groups-fraction", lambda b: read(rows(groups=[COUNT + 0.5, 1])), CountsError, "'groups'.*fractions"),
    ("groups-nan", lambda b: read(rows(groups=[COUNT, np.nan])), CountsError, "'groups' hold 1 NaN"),
    ("groups-infinite", lambda b: read(rows(groups=[COUNT, np.inf])), CountsError, "'groups' hold 1 NaN"),
    ("groups-null", lambda b: read(rows(groups=[COUNT, None])), CountsError, "'groups' has 1 missing"),
    ("groups-text", lambda b: read(rows(groups=["1", SECRET])), CountsError, "'groups'.*holds string"),
    ("groups-bool", lambda b: read(rows(groups=[True, False])), CountsError, "'groups'.*holds bool"),
    ("groups-list", lambda b: read(rows(groups=[[COUNT], [1]])), CountsError, "'groups'.*holds list"),
    ("groups-huge", lambda b: read(rows(groups=[2**39, COUNT])), CountsError, "more than 549755813888"),
    ("groups-over-64-bit", lambda b: read(rows(groups=[COUNT, 2**70])), CountsError, "."),
    ("size-null", lambda b: read(rows(size=[None, 2])), CountsError, "'size' has 1 missing"),
    ("size-fraction", lambda b: read(rows(size=[1.5, COUNT])), CountsError, "'size' hold 1 fractions"),
    ("size-outside", lambda b: read(rows(size=[1, COUNT]), sizes=(1, 9)), CountsError, "row 2.*1 to 9"),
    ("size-negative", lambda b: read(rows(size=[1, -COUNT])), CountsError, "size"),
    ("size-huge", lambda b: read(rows(size=[1, COUNT * 10**6])), CountsError, "size"),
    ("region-empty", lambda b: read(rows(state=[SECRET, ""])), CountsError, "row 2.*empty name"),
    ("region-blank", lambda b: read(rows(state=[SECRET, " "])), CountsError, "row 2.*empty name"),
    ("region-float", lambda b: read(rows(state=[1.5, COUNT])), CountsError, "'state' holds double"),
    ("region-bool", lambda b: read(rows(state=[True, False])), CountsError, "'state' holds bool"),
    ("region-bytes", lambda b: read(rows(state=[b"1", SECRET.encode()])), CountsError, "holds binary"),
    (
        "region-not-utf8",
        lambda b: read(rows(state=not_utf8([b"GA", SECRET.encode() + b"\xff"]))),
        CountsError,
        "'state'",
    ),
    (
        "region-surrogate",
        lambda b: read(pd.DataFrame(rows(state=[SECRET, "\ud800"]), dtype=object)),
        CountsError,
        ".",
    ),
    (
        "region-inner",
        lambda b: read({"state": [SECRET, SECRET], "county": ["x", None], **SPLIT}, regions=TWO),
        CountsError,
        "row 2.*not a leaf",
    ),
    (
        "region-below-missing",
        lambda b: read({"state": ["GA", None], "county": ["x", SECRET], **SPLIT}, regions=TWO),
        CountsError,
        "row 2.*'county' names a region below a missing one",
    ),
    (
        "region-level-unused",
        lambda b: read({"state": ["GA", SECRET], "county": [None, None], **SPLIT}, regions=TWO),
        HierarchyError,
        "No path reaches level 'county'",
    ),
    ("region-unknown", lambda b: read(ROWS, hierarchy=H, root="US"), CountsError, "row 2.*not a leaf"),
    ("rows-twice", lambda b: read(rows(state=[SECRET] * 2, size=[2, 2])), CountsError, "row 2.*earlier"),
    ("root-empty", lambda b: read(rows(state=[SECRET, "x"]), root=""), CountsError, "root must have a name"),
    ("root-number", lambda b: read(ROWS, root=3), CountsError, "root must have a name"),
    ("root-level-taken", lambda b: read(ROWS, root_level="state"), HierarchyError, "the same name"),
    ("table-hierarchy", lambda b: read(ROWS, hierarchy="US"), CountsError, "[Hh]ierarchy"),
    ("table-bounds", lambda b: read(ROWS, bounds="1"), PrivacyError, "[Bb]ounds"),
    ("table-none", lambda b: read(None), CountsError, "NoneType cannot be read as a table"),
    ("table-number", lambda b: read(COUNT), CountsError, "int cannot be read as a table"),
    ("table-list", lambda b: read([SECRET, COUNT]), CountsError, "list cannot be read as a table"),
    ("table-ragged", lambda b: read(rows(groups=[COUNT])), CountsError, "cannot be read as a table"),
    (
        "table-mixed",
        lambda b: read(pd.DataFrame(rows(groups=pd.Series([COUNT, SECRET], dtype=object)))),
        CountsError,
        ".",
    ),
    (
        "table-objects",
        lambda b: read(pl.DataFrame(rows(groups=pl.Series([COUNT, object()], dtype=pl.Object)))),
        CountsError,
        "'groups'",
    ),
]

FILES: list[Case] = [
    ("file-missing", lambda b: read(b.folder / "no.csv"), CountsError, "There is no file .*no.csv"),
    ("file-missing-parquet", lambda b: read(b.folder / "no.parquet"), CountsError, "There is no file"),
    ("file-below-file", lambda b: read(b.file("x", "") / "no.csv"), CountsError, "cannot be read|no file"),
    ("file-folder", lambda b: read(b.folder), CountsError, "is a folder"),
    ("file-empty-name", lambda b: read(""), CountsError, "is a folder"),
    ("file-long-name", lambda b: read(b.folder / ("x" * 300 + ".csv")), CountsError, "name too long|no file"),
    ("file-null-name", lambda b: read(b.folder / "x\0.csv"), CountsError, "cannot be read|no file"),
    ("file-newline-name", lambda b: read(b.folder / "x\ny.csv"), CountsError, "There is no file"),
    ("file-ending", lambda b: read(b.file("c.xlsx", CSV)), CountsError, "neither a CSV nor a Parquet"),
    ("csv-empty", lambda b: read(b.file("c.csv", "")), CountsError, "cannot be read|empty|no rows"),
    ("csv-header-only", lambda b: read(b.file("c.csv", "state,size,groups\n")), CountsError, "no rows"),
    ("csv-no-header", lambda b: read(b.file("c.csv", f"{SECRET},1,{COUNT}\n")), CountsError, "column"),
    ("csv-ragged", lambda b: read(b.file("c.csv", CSV + f"{SECRET},3\n")), CountsError, "cannot be read"),
    ("csv-quote", lambda b: read(b.file("c.csv", CSV + f'"{SECRET},3,4\n')), CountsError, "cannot be read"),
    ("csv-latin", lambda b: read(b.file("c.csv", (CSV + "é,3,4").encode("latin-1"))), CountsError, "UTF-8"),
    (
        "csv-latin-header",
        lambda b: read(b.file("c.csv", ("é," + CSV.replace("\n", "\nx,", 2)).encode("latin-1"))),
        CountsError,
        "not UTF-8",
    ),
    ("csv-utf16", lambda b: read(b.file("c.csv", CSV.encode("utf-16"))), CountsError, "."),
    ("csv-text", lambda b: read(b.file("c.csv", CSV + f"NY,1,{SECRET}\n")), CountsError, "holds string"),
    ("csv-nan", lambda b: read(b.file("c.csv", CSV + "NY,1,NaN\n")), CountsError, "1 NaN or infinite"),
    ("csv-huge", lambda b: read(b.file("c.csv", CSV + f"NY,1,{COUNT}{10**30}\n")), CountsError, "beyond"),
    ("csv-damaged-gzip", lambda b: read(b.file("c.csv.gz", CSV)), CountsError, "cannot be read"),
    ("parquet-empty", lambda b: read(b.file("c.parquet", "")), CountsError, "cannot be read"),
    ("parquet-text", lambda b: read(b.file("c.parquet", CSV)), CountsError, "cannot be read"),
    (
        "parquet-cut",
        lambda b: read(b.file("d.parquet", b.parquet(ROWS).read_bytes()[:-30])),
        CountsError,
        "cannot be read",
    ),
    ("parquet-column", lambda b: read(b.parquet(ROWS), size="sise"), CountsError, "did you mean 'size'"),
    (
        "parquet-not-utf8",
        lambda b: read(b.parquet(rows(state=not_utf8([b"GA", SECRET.encode() + b"\xff"])))),
        CountsError,
        "'state'|read",
    ),
]

PRIVACY: list[Case] = [
    ("epsilon-float", lambda b: plan(0.1), PrivacyError, 'float.*give it as text, such as "0.1"'),
    ("epsilon-zero", lambda b: plan("0"), PrivacyError, "must be above zero"),
    ("epsilon-zero-int", lambda b: plan(0), PrivacyError, "must be above zero"),
    ("epsilon-negative", lambda b: plan("-0.5"), PrivacyError, "must be above zero"),
    ("epsilon-text", lambda b: plan("one"), PrivacyError, "not a number: 'one'"),
    ("epsilon-empty", lambda b: plan(""), PrivacyError, "not a number: ''"),
    ("epsilon-nan", lambda b: plan("nan"), PrivacyError, "not a number"),
    ("epsilon-nan-decimal", lambda b: plan(Decimal("nan")), PrivacyError, "not a number"),
    ("epsilon-infinite", lambda b: plan("inf"), PrivacyError, "not a number"),
    ("epsilon-bool", lambda b: plan(True), PrivacyError, "must be text"),
    ("epsilon-none", lambda b: plan(None), PrivacyError, "must be text"),
    ("epsilon-list", lambda b: plan(["1"]), PrivacyError, "must be text"),
    ("epsilon-divided", lambda b: plan("1/0"), PrivacyError, "not a number"),
    ("epsilon-10000-characters", lambda b: plan("1" * 10_000), PrivacyError, "longer than 40"),
    ("epsilon-exponent", lambda b: plan("1e-9999999999"), PrivacyError, "more than 40 digits"),
    ("epsilon-exponent-up", lambda b: plan("1e9999999999"), PrivacyError, "more than 40 digits"),
    ("epsilon-many-digits", lambda b: plan(10**50), PrivacyError, "more than 40 digits"),
    ("epsilon-5000-digits", lambda b: plan(-(10**5000)), PrivacyError, "epsilon"),
    ("epsilon-tiny", lambda b: plan("1e-30"), PrivacyError, "too small at level 'nation'"),
    ("budget-unknown", lambda b: plan(budget={"stat": 1}), PrivacyError, "did you mean 'state'"),
    ("budget-missing", lambda b: plan(budget={"state": 1}), PrivacyError, "no weight to level 'nation'"),
    ("budget-zero", lambda b: plan(budget={"nation": 0, "state": 1}), PrivacyError, "above zero"),
    ("budget-negative", lambda b: plan(budget={"nation": 2, "state": "-1"}), PrivacyError, "above zero"),
    ("budget-float", lambda b: plan(budget={"nation": 0.5, "state": 1}), PrivacyError, "is a float"),
    ("budget-list", lambda b: plan(budget=[1, 2]), PrivacyError, "weight for each level"),
    ("budget-empty", lambda b: plan(budget={}), PrivacyError, "no weight to level 'nation'"),
    ("bounds-zero", lambda b: tt.Bounds(max_records=0), PrivacyError, "max_records.*1 to 1048576"),
    ("bounds-float", lambda b: tt.Bounds(max_quantity=1.0), PrivacyError, "max_quantity.*whole number"),
    ("bounds-huge", lambda b: tt.Bounds(max_quantity=2**21), PrivacyError, "max_quantity.*1 to 1048576"),
    ("bounds-bool", lambda b: tt.Bounds(max_records=True), PrivacyError, "max_records.*whole number"),
    ("plan-bounds", lambda b: plan(bounds="1"), PrivacyError, "[Bb]ounds"),
    ("plan-sizes", lambda b: plan(sizes=(3, 1)), CountsError, "not a range"),
    ("seed-negative", lambda b: tt.simulate(COUNTS, epsilon="1", seed=-1), PrivacyError, "seed"),
    ("seed-float", lambda b: tt.simulate(COUNTS, epsilon="1", seed=1.0), PrivacyError, "seed"),
]

MECHANISMS: list[Case] = [
    ("mechanism-unknown", lambda b: tt.mechanism("direct_dp"), MechanismError, "did you mean 'direct-dp'"),
    ("mechanism-none", lambda b: tt.mechanism(None), MechanismError, "no mechanism 'None'"),
    ("mechanism-list", lambda b: tt.mechanism(["direct-dp"]), MechanismError, "no mechanism"),
    ("option-unknown", lambda b: tt.mechanism("direct-dp", solvr="x"), MechanismError, "mean 'solver'"),
    ("solver-unknown", lambda b: tt.mechanism("direct-dp", solver="table"), MechanismError, "'tables'"),
    ("solver-list", lambda b: tt.mechanism("direct-dp", solver=[]), MechanismError, "no solver"),
    ("plan-hierarchy", lambda b: DIRECT.plan("US", sizes=(1, 2), epsilon="1"), InputError, "ierarchy"),
    ("values-few", lambda b: tt.Measurements(PLAN, VALUES[:1]), MechanismError, "1 arrays.* for 2 levels"),
    ("values-none", lambda b: tt.Measurements(PLAN, None), MechanismError, "values|arrays"),
    ("values-shape", lambda b: tt.Measurements(PLAN, VALUES[::-1]), MechanismError, "'nation'.*shape"),
    (
        "values-ragged",
        lambda b: tt.Measurements(PLAN, [[[1], [1, 2]], VALUES[1]]),
        MechanismError,
        "'nation'",
    ),
    (
        "values-floats",
        lambda b: tt.Measurements(PLAN, [VALUES[0], VALUES[1] + 0.5]),
        MechanismError,
        "'state' must be whole numbers",
    ),
    (
        "values-huge",
        lambda b: tt.Measurements(PLAN, [VALUES[0] - 2**40, VALUES[1]]),
        MechanismError,
        "'nation' go beyond 549755813888",
    ),
    ("values-plan", lambda b: tt.Measurements("plan", VALUES), MechanismError, "[Pp]lan"),
    ("not-measurements", lambda b: DIRECT.postprocess(VALUES, total=1), MechanismError, "Measurements and"),
    ("total-negative", lambda b: DIRECT.postprocess(NOISY, total=-1), MechanismError, "total must be"),
    ("total-float", lambda b: DIRECT.postprocess(NOISY, total=1.0), MechanismError, "total must be"),
    ("total-bool", lambda b: DIRECT.postprocess(NOISY, total=True), MechanismError, "total must be"),
    ("total-none", lambda b: DIRECT.postprocess(NOISY, total=None), MechanismError, "total must be"),
    ("total-huge", lambda b: DIRECT.postprocess(NOISY, total=2**39 + 1), MechanismError, "total must be"),
    ("answers-hierarchy", lambda b: PLAN.answers(count(hierarchy=OTHER)), CountsError, "other hierarchy"),
    (
        "answers-in-parts",
        lambda b: list(PLAN.answer_in_parts(count(hierarchy=OTHER), 0)),
        CountsError,
        "other hierarchy",
    ),
    ("answers-sizes", lambda b: PLAN.answers(count(sizes=(0, 1))), CountsError, r"sizes \(0, 1\)"),
    ("answers-none", lambda b: PLAN.answers(None), CountsError, "[Cc]ounts"),
]

RELEASES: list[Case] = [
    ("release-array", lambda b: release(counts=COUNTS.leaf), CountsError, "made from GroupCounts"),
    ("release-epsilon", lambda b: release(epsilon=1.0), PrivacyError, "is a float"),
    ("release-mechanism", lambda b: release(mechanism="direct"), MechanismError, "no mechanism 'direct'"),
    (
        "release-level-size",
        lambda b: release(counts=count([[1, 2]], hierarchy=tree(("a", "b"), levels=["nation", "size"]))),
        HierarchyError,
        "may not be called 'size'",
    ),
    ("simulate-array", lambda b: tt.simulate(COUNTS.leaf, epsilon="1", seed=1), CountsError, "GroupCounts"),
    (
        "evaluate-regions",
        lambda b: tt.evaluate(tt.simulate(COUNTS, epsilon="1", seed=1), count(hierarchy=OTHER)),
        CountsError,
        "other regions or sizes",
    ),
    ("evaluate-none", lambda b: tt.evaluate(None, COUNTS), InputError, "."),
    ("save-folder", lambda b: release().save(b.folder, replicates=0), FolderError, "exists already"),
    ("save-file", lambda b: release().save(b.file("x", ""), replicates=0), FolderError, "exists already"),
    (
        "save-below-file",
        lambda b: release().save(b.file("x", "") / "y", replicates=0),
        FolderError,
        "cannot be written: Not a directory",
    ),
    (
        "save-long-name",
        lambda b: release().save(b.folder / ("x" * 300), replicates=0),
        FolderError,
        "name too long",
    ),
    (
        "save-null-name",
        lambda b: release().save(b.folder / "x\0y", replicates=0),
        FolderError,
        "cannot be written",
    ),
    ("save-none", lambda b: release().save(None, replicates=0), FolderError, "folder|path"),
]


RELEASE, MEASURED, MANIFEST = "release.parquet", "measurements.parquet", "manifest.json"


FOLDERS: list[Case] = [
    ("load-none", lambda b: tt.load(None), FolderError, "folder"),
    ("load-missing", lambda b: tt.load(b.folder / "no"), FolderError, "no release folder .*no"),
    ("load-file", lambda b: tt.load(b.file("x", "")), FolderError, "no release folder"),
    ("load-long-name", lambda b: tt.load(b.folder / ("x" * 300)), FolderError, "folder|too long"),
    ("load-newline-name", lambda b: tt.load(b.folder / "x\ny"), FolderError, "no release folder"),
    ("load-empty", lambda b: tt.load(b.folder), FolderError, "manifest.json is missing"),
    ("load-no-counts", lambda b: b.load_after(RELEASE, Path.unlink), FolderError, "release.parquet is miss"),
    ("load-no-noisy", lambda b: b.load_after(MEASURED, Path.unlink), FolderError, "measurements.parquet is"),
    ("manifest-empty", lambda b: b.load_manifest(b""), FolderError, "damaged"),
    ("manifest-not-json", lambda b: b.load_manifest(SECRET.encode()), FolderError, "damaged"),
    ("manifest-not-text", lambda b: b.load_manifest(b"\xff\xfe\x00"), FolderError, "not UTF-8"),
    ("manifest-list", lambda b: b.load_manifest(b"[]"), FolderError, "damaged"),
    ("manifest-number", lambda b: b.load_manifest(b"3"), FolderError, "damaged"),
    ("manifest-deep", lambda b: b.load_manifest(b"[" * 100_000), FolderError, "damaged"),
    ("manifest-other", lambda b: b.load_manifest(b"{}"), FolderError, "damaged"),
    (
        "counts-garbage",
        lambda b: b.load_after(RELEASE, garble),
        FolderError,
        "damaged",
    ),
    (
        "noisy-garbage",
        lambda b: b.load_after(MEASURED, garble),
        FolderError,
        "damaged",
    ),
    ("counts-cut", lambda b: b.load_after(RELEASE, cut), FolderError, "damaged"),
    ("noisy-cut", lambda b: b.load_after(MEASURED, cut), FolderError, "damaged"),
    ("counts-in-folder", lambda b: b.load_after(RELEASE, move_into_folder), FolderError, "."),
    ("noisy-in-folder", lambda b: b.load_after(MEASURED, move_into_folder), FolderError, "."),
    ("counts-column", lambda b: b.load_table(RELEASE, lambda t: t.drop(["groups"])), FolderError, "damaged"),
    ("noisy-column", lambda b: b.load_table(MEASURED, lambda t: t.drop(["state"])), FolderError, "damaged"),
    (
        "noisy-rows",
        lambda b: b.load_table(MEASURED, lambda t: t.slice(1)),
        FolderError,
        "it has 8 rows, not 9",
    ),
]

MANIFESTS: list[tuple[str, tuple[str | int, ...], object, str]] = [
    ("format", ("format",), "tallytree-release-0", "another format"),
    ("files-none", ("files",), None, "damaged"),
    ("files-list", ("files",), [], "damaged"),
    ("files-text", ("files",), "", "damaged"),
    ("data-list", ("data",), [], "damaged"),
    ("levels-text", ("data", "levels"), "root", "damaged"),
    ("levels-twice", ("data", "levels"), ["root", "root"], "."),
    ("levels-other", ("data", "levels"), ["a", "b"], "damaged"),
    ("sizes-reversed", ("data", "sizes"), [3, 1], "damaged"),
    ("sizes-other", ("data", "sizes"), [1, 2], "."),
    ("sizes-huge", ("data", "sizes"), [2**70, 2**70 + 2], "."),
    ("total-text", ("data", "total"), str(COUNT), "damaged"),
    ("total-bool", ("data", "total"), True, "damaged"),
    ("total-negative", ("data", "total"), -1, "damaged"),
    ("total-huge", ("data", "total"), 2**70, "damaged"),
    ("privacy-none", ("privacy",), None, "damaged"),
    ("epsilon-divided", ("privacy", "epsilon"), "1/0", "damaged"),
    ("epsilon-huge", ("privacy", "epsilon"), "1" + "0" * 400, "damaged"),
    ("bounds-zero", ("privacy", "max_records"), 0, "damaged"),
    ("plan-none", ("privacy", "levels"), None, "damaged"),
    ("plan-empty", ("privacy", "levels"), [], "other levels"),
    ("scale-text", ("privacy", "levels", 0, "scale"), "x", "damaged"),
    ("scale-huge", ("privacy", "levels", 0, "scale"), "1" + "0" * 40, "damaged"),
    ("scale-tiny", ("privacy", "levels", 0, "scale"), "1/1" + "0" * 400, "damaged"),
    ("query-unknown", ("privacy", "levels", 0, "query"), "x", "damaged"),
]

CELLS: list[tuple[str, str, str, object, str]] = [
    ("counts-region-unknown", RELEASE, "root", "x", "region that was not measured"),
    ("counts-region-null", RELEASE, "root", None, "leaves out a region"),
    ("counts-region-below-level", RELEASE, "state", "TX", "."),
    (
        "counts-level-unknown",
        RELEASE,
        "level",
        "county",
        "a row has an unknown level|A row has an unknown level",
    ),
    ("counts-level-null", RELEASE, "level", None, "values are missing"),
    ("counts-size-outside", RELEASE, "size", 99, "size that is not from 1 to 3"),
    ("counts-size-null", RELEASE, "size", None, "values are missing"),
    ("counts-null", RELEASE, "groups", None, "values are missing"),
    ("counts-huge", RELEASE, "groups", 2**62, "number beyond"),
    ("counts-far-below", RELEASE, "groups", -(2**63), "number beyond"),
    ("noisy-region-below-level", MEASURED, "state", "TX", "does not fit its level"),
    ("noisy-level-unknown", MEASURED, "level", "county", "does not fit its level"),
    ("noisy-size-null", MEASURED, "size", None, "."),
    ("noisy-null", MEASURED, "measured", None, "."),
    ("noisy-huge", MEASURED, "measured", 2**62, "."),
]

CASES = [*HIERARCHY, *COUNT_ARRAYS, *TABLES, *FILES, *PRIVACY, *MECHANISMS, *RELEASES, *FOLDERS]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_release(tmp_path_factory.mktemp("intact") / "release")


@pytest.fixture
def bench(tmp_path: Path, released: Path) -> Bench:
    return Bench(tmp_path, released)


def check_refused(call: Callable[[Bench], object], bench: Bench, kind: type[InputError], words: str) -> None:
    with pytest.raises(InputError) as caught:
        call(bench)
    error = caught.value
    assert type(error) is kind or kind is InputError
    assert issubclass(kind, ValueError)
    message = str(error)
    assert re.search(words, message)
    assert message.endswith((".", "?"))
    check_message(message, bench.folder)
    # What Python shows of an error that nobody caught, with the errors that led to it.
    shown = "".join(traceback.format_exception(error)).replace(str(bench.folder), "PATH")
    check_secrets(shown)
    assert not [name for name in list_all(bench.folder) if Path(name).name.startswith(".")]


@pytest.mark.parametrize(("call", "kind", "words"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_wrong_input_is_one_clear_error(
    call: Callable[[Bench], object], kind: type[InputError], words: str, bench: Bench
) -> None:
    check_refused(call, bench, kind, words)


@pytest.mark.parametrize(("keys", "value", "words"), [pytest.param(*c[1:], id=c[0]) for c in MANIFESTS])
def test_wrong_manifest_is_one_clear_error(
    keys: tuple[str | int, ...], value: object, words: str, bench: Bench
) -> None:
    check_refused(lambda b: b.load_manifest_with(*keys, value=value), bench, FolderError, words)


@pytest.mark.parametrize(("file", "column", "value", "words"), [pytest.param(*c[1:], id=c[0]) for c in CELLS])
def test_wrong_cell_of_a_release_is_one_clear_error(
    file: str, column: str, value: object, words: str, bench: Bench
) -> None:
    check_refused(lambda b: b.load_cell(file, column, value), bench, FolderError, words)


@pytest.mark.parametrize("text", ["not-utf8-region", "not-utf8-level"])
def test_release_that_is_not_utf8_blames_the_right_file(text: str, bench: Bench) -> None:
    place = {"not-utf8-region": 0, "not-utf8-level": 2}[text]

    def change(table: pa.Table) -> pa.Table:
        wrong = not_utf8([b"\xff"] * table.num_rows)
        return table.set_column(place, table.column_names[place], wrong)

    check_refused(lambda b: b.load_table(RELEASE, change), bench, FolderError, "release.parquet")


@pytest.fixture
def ordinary_user(released: Path) -> Iterator[Bench]:
    """A bench of a user who is not root, also where root runs the tests: root may do everything."""
    read(ROWS)
    release()  # all that is loaded late is loaded now, while it can be read
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Bench(Path(folder), released)
        finally:
            if root:
                os.seteuid(0)


NOBODY = 65534


@pytest.mark.parametrize(
    ("mode", "call", "kind", "words"),
    [
        pytest.param(
            0o000, lambda b: read(b.folder / "in" / "c.csv"), CountsError, "may not", id="csv-below"
        ),
        pytest.param(0o700, lambda b: read(b.folder / "in" / "c.csv"), CountsError, "may not be", id="csv"),
        pytest.param(0o000, lambda b: tt.load(b.folder / "in"), FolderError, "Permission denied", id="load"),
        pytest.param(
            0o000, lambda b: tt.load(b.folder / "in/x"), FolderError, "Permission denied", id="load-below"
        ),
        pytest.param(
            0o500,
            lambda b: release().save(b.folder / "in" / "x", replicates=0),
            FolderError,
            "Permission denied",
            id="save",
        ),
    ],
)
def test_no_permission_is_one_clear_error(
    mode: int, call: Callable[[Bench], object], kind: type[InputError], words: str, ordinary_user: Bench
) -> None:
    inside = ordinary_user.folder / "in"
    inside.mkdir()
    (inside / "c.csv").write_text(CSV)
    (inside / "c.csv").chmod(0o000)
    inside.chmod(mode)
    try:
        check_refused(call, ordinary_user, kind, words)
    finally:
        inside.chmod(0o700)


def test_cases_are_many_and_each_has_a_name() -> None:
    names = [case[0] for case in CASES]
    assert len(names) >= 45
    assert len(set(names)) == len(names)
