"""What is mutated, and which tests are worth running for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Some files of the package, and the tests that are about them."""

    name: str
    files: tuple[str, ...]
    """Patterns below the package."""
    tests: tuple[str, ...]
    """Names of files of tests, without ``test_`` and the ending; the modules' own examples run as well."""

    def list_files(self, package: Path) -> list[str]:
        """The modules, as paths below the package."""
        found = {path for pattern in self.files for path in package.glob(pattern)}
        return sorted(str(path.relative_to(package)) for path in found if path.name != "__init__.py")


@dataclass(frozen=True)
class Project:
    """A package with its tests."""

    root: Path
    """Where the tests are run, which are in its folder ``tests``."""
    package: Path
    parts: tuple[Part, ...]
    kernels: str | None = None
    """The module whose ``CACHE`` is the folder of compiled kernels."""
    grace: int = 4
    """Processor seconds that every test has, however quick it is."""

    def name_module(self, file: str) -> str:
        """As it is imported."""
        return ".".join((self.package.name, *Path(file).with_suffix("").parts))

    def list_targets(self) -> list[str]:
        """All modules that are mutated."""
        return sorted({file for part in self.parts for file in part.list_files(self.package)})

    def list_tests(self, part: Part) -> list[str]:
        """The files to be run for a part, below the root."""
        modules = [self.package / file for file in part.list_files(self.package)]
        examples = [
            str(module.relative_to(self.root))
            for module in modules
            if ">>>" in module.read_text(encoding="utf-8")
        ]
        named = {f"test_{name}.py" for name in part.tests}
        tests = [path for path in (self.root / "tests").rglob("test_*.py") if path.name in named]
        return [*sorted(str(path.relative_to(self.root)) for path in tests), *examples]


PARTS = (
    Part(
        "privacy",
        ("privacy/*.py",),
        (
            "privacy",
            "digit_probabilities",
            "digit_noise",
            "random_stream",
            "gaussian",
            "noise",
            "verification",
            "large_levels",
            "seeds",
            "count_sensitivity",
            "conformance",
            "bad_input",
            "evidence",
            "report",
            "intervals",
        ),
    ),
    Part(
        "verify",
        ("solvers/checks.py", "releases/evidence.py", "releases/contrasts.py"),
        (
            "verification",
            "evidence",
            "contrasts",
            "forgeries",
            "releases",
            "large_levels",
            "conformance",
            "gaussian",
            "count_of_counts",
        ),
    ),
    Part(
        "solvers",
        ("solvers/**/*.py",),
        (
            "paper_example",
            "isotonic",
            "tree_kernels",
            "tree_projection",
            "cost_tables",
            "chain",
            "topdown",
            "count_of_counts",
            "joint",
            "joint_search",
            "newton_system",
            "shared_work",
            "qp",
            "conformance",
            "exact_peers",
            "gurobi_chords",
            "hierarchy",
            "large_levels",
            "evaluation",
        ),
    ),
)

ROOT = Path(__file__).parents[2]
TALLYTREE = Project(ROOT, ROOT / "src" / "tallytree", PARTS, "tallytree.kernels")
