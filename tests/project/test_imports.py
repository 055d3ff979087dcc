"""The one door: what runs after the measuring cannot reach true counts or noise."""

import re
import subprocess
import sys

import pytest
from scripts.docs.imports import PACKAGE as ROOT
from scripts.docs.imports import find_reachable, read_imports

NOISE = {"privacy.noise", "privacy.digits"}
TRUTH_OR_NOISE = {f"counts.{p.stem}" for p in (ROOT / "counts").glob("*.py")} | {"privacy.door"} | NOISE
BOTH = {"privacy.door"}

# Modules that work from measurements and releases alone.
AFTER_MEASURING = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for part in ("solvers", "mechanisms", "releases", "report", "drawing", "ledger")
    for path in (ROOT / part).rglob("*.py")
)


GRAPH = read_imports()


def reachable(module: str) -> set[str]:
    return find_reachable(GRAPH, module)


@pytest.mark.parametrize("module", AFTER_MEASURING)
def test_what_comes_after_measuring_reaches_neither_truth_nor_noise(module: str) -> None:
    assert module.removesuffix(".__init__") in GRAPH
    assert not reachable(module.removesuffix(".__init__")) & TRUTH_OR_NOISE


def test_only_the_measuring_step_sees_truth_and_noise() -> None:
    for module, imports in GRAPH.items():
        draws = NOISE & imports
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text() if draws else ""
        answers = re.search(r"\banswer(s|_in_parts)?\(", text)
        assert not answers or module in BOTH, module


def test_replicates_never_reach_true_counts() -> None:
    for module in ("replicates", "pools", "summaries"):
        assert not reachable(f"intervals.{module}") & (TRUTH_OR_NOISE - NOISE)
    assert NOISE & reachable("intervals.replicates")


def test_the_check_itself_sees_what_it_forbids() -> None:
    assert {"counts.group_counts", "privacy.door"} | NOISE <= reachable("publishing.pipeline")


def test_seeded_noise_is_out_of_reach_of_releases() -> None:
    for module in ("publishing.pipeline", "cli.release_command", "cli.demo_command"):
        assert "privacy.noise.SeededNoise" not in GRAPH[module]
        assert "privacy.door.measure_with_seed" not in GRAPH[module]


def test_audits_are_out_of_reach_of_releases() -> None:
    """They know the truth and use repeatable noise: on counts that they invent themselves, and no others."""
    for module in ("publishing.pipeline", "releases.released", "cli.release_command", "cli.demo_command"):
        assert not any(name.startswith("research.auditing") for name in reachable(module))
    audits = {name for name in GRAPH if name.startswith("research.auditing.")}
    assert audits <= reachable("cli.audit_command")  # the check would see it
    for module in {"cli.audit_command"} | audits:
        assert not GRAPH[module] & {
            "counts.people",
            "counts.count_tables",
            "counts.arrow",
            "publishing.pipeline",
            "releases.released",
        }


def test_the_reproduction_is_out_of_reach_of_releases() -> None:
    """It compares with the truth, and uses repeatable noise: for public and invented data."""
    for module in ("publishing.pipeline", "releases.released", "cli.release_command", "cli.demo_command"):
        assert not any(name.startswith("research.reproduction") for name in reachable(module))
    assert any(name.startswith("research.reproduction.") for name in reachable("cli.reproduce_command"))
    for module in {name for name in GRAPH if name.startswith("research.reproduction")}:
        assert not GRAPH[module] & {
            "counts.people",
            "counts.count_tables",
            "publishing.pipeline",
            "releases.released",
        }


def test_comparisons_are_out_of_reach_of_noise() -> None:
    """They read tables, which must be published ones; they draw and measure nothing."""
    assert "counts.arrow" in reachable("comparison.comparing")
    assert not reachable("comparison.comparing") & (NOISE | {"privacy.door", "research.evaluation"})


HEAVY = {"cryptography", "duckdb", "ibis", "llvmlite", "numba", "numpy", "opendp", "ortools", "pandas"}
HEAVY |= {"polars", "psycopg", "pyarrow", "pyscipopt", "pyspark", "scipy", "shapely", "sqlalchemy"}


def load_in_new_process(code: str) -> set[str]:
    """The packages that are loaded after the code."""
    lines = [code, "import sys", "print(*{name.partition('.')[0] for name in sys.modules})"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_loads_nothing_but_the_standard_library() -> None:
    loaded = load_in_new_process("import tallytree")
    assert "tallytree" in loaded
    assert not loaded & (HEAVY | {"rich", "typer"})
    assert "numpy" in load_in_new_process("import tallytree; tallytree.GroupCounts")  # the check would see it


def test_asking_for_help_loads_nothing_heavy() -> None:
    code = """
from typer.testing import CliRunner
from tallytree.cli.main import app
from tallytree.cli.manuals import MANUALS
for words in ("", "ledger", *MANUALS):
    done = CliRunner().invoke(app, [*words.split(), "--help"])
    assert done.exit_code == 0 and "Usage" in done.output, words
"""
    assert not load_in_new_process(code) & HEAVY
