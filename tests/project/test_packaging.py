"""What is said about the package, in the files that tools and people read."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tallytree as tt
from tallytree.errors import PrivacyError
from tallytree.privacy.zcdp import load_opendp

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def name_of(requirement: str) -> str:
    return requirement.partition(">")[0].partition("[")[0].lower()


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert CITATION["version"] == tt.__version__  # which a file of data cannot take from there


def test_the_citation_names_the_software_and_the_paper() -> None:
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()  # what the format requires
    assert CITATION["title"] == "Tallytree"
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["authors"] == PROJECT["authors"]
    (paper,) = CITATION["references"]
    assert paper["title"] == "Differential Privacy of Hierarchical Census Data: An Optimization Approach"
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Fioretto", "Van Hentenryck", "Zhu"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert paper["doi"] in readme


def test_what_only_some_need_is_an_extra() -> None:
    required = {name_of(each) for each in PROJECT["dependencies"]}
    extras = {
        name: {name_of(each) for each in needs} for name, needs in PROJECT["optional-dependencies"].items()
    }
    assert {"solvers", "spark", "postgres", "opendp"} <= extras.keys()
    heavy = {"opendp", "ortools", "pandas", "piqp", "polars", "psycopg", "pyscipopt", "pyspark", "scipy"}
    assert not required & heavy
    assert all("[" not in each for each in PROJECT["dependencies"])  # nor by way of another's extra
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in open_constraints()}
    assert required <= pinned


def open_constraints() -> list[str]:
    return (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]


def test_the_types_are_marked() -> None:
    assert (Path(tt.__file__).parent / "py.typed").exists()


HOW: dict[str, dict[str, Any]] = {
    # An epsilon that no other test asks about, so that none is remembered.
    "gaussian": {"epsilon": "0.987", "delta": "1e-9"},
    "rho": {"rho": "0.001", "delta": "1e-9"},
    "sampler": {"epsilon": "0.987", "noise": "opendp"},
}


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_without_opendp_its_extra_is_named_and_nothing_is_charged(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy = tt.Hierarchy.from_paths(levels=["nation", "state"], paths=[("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(hierarchy, sizes=(1, 2), leaf=[[1, 2], [3, 4]])
    unit: dict[str, Any] = {"rho": "1", "delta": "1e-9"} if "delta" in how else {"epsilon": "1"}
    ledger = tt.Ledger.create(tmp_path / "ledger.db", dataset="people", **unit)
    load_opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(PrivacyError, match=r"pip install 'tallytree\[opendp\]'"):
        tt.release(counts, ledger=ledger, **how)
    monkeypatch.undo()
    load_opendp.cache_clear()
    assert not ledger.balance().spent
    assert tt.release(counts, ledger=ledger, **how).verify()
    assert ledger.balance().spent
