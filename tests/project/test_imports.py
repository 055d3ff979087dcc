"""The one door, and what is loaded when: rules that the contracts in pyproject.toml cannot state."""

import re
import subprocess
import sys

from scripts.docs.imports import PACKAGE as ROOT
from scripts.docs.imports import read_imports

NOISE = {"privacy.noise", "privacy.digits"}
DOOR = "privacy.door"
GRAPH = read_imports()


def test_only_the_door_sees_truth_and_noise() -> None:
    """Replicates of a release ask its own counts, and true ones are out of their reach by contract."""
    seen = set()
    for module, imports in GRAPH.items():
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text() if NOISE & imports else ""
        if re.search(r"\banswer(s|_in_parts)?\(", text):
            seen.add(module)
    assert seen == {DOOR, "intervals.replicates"}


def test_seeded_noise_is_out_of_reach_of_releases() -> None:
    for module in ("publishing.pipeline", "cli.release_command", "cli.demo_command"):
        assert "privacy.noise.SeededNoise" not in GRAPH[module]
        assert f"{DOOR}.measure_with_seed" not in GRAPH[module]
    assert f"{DOOR}.measure_with_seed" in GRAPH["research.evaluation"]  # the check would see it


def test_research_reads_no_records_and_makes_no_release() -> None:
    """It knows the truth and uses repeatable noise: on public or invented counts, and no others."""
    forbidden = {"counts.people", "counts.count_tables", "publishing.pipeline", "releases.released"}
    for module, imports in GRAPH.items():
        if module.startswith(("research.auditing", "research.reproduction")) or module == "cli.audit_command":
            assert not imports & forbidden, module


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
