"""What is mutated, and which tests are worth running for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tallytree"


@dataclass(frozen=True)
class Part:
    """Some files of the package, and the tests that are about them."""

    name: str
    files: tuple[str, ...]
    """Patterns below the package."""
    tests: tuple[str, ...]
    """Names of files of tests, without ``test_`` and the ending; the modules' own examples run as well."""

    def list_files(self, package: Path = PACKAGE) -> list[str]:
        """The modules, as paths below the package."""
        found = {path for pattern in self.files for path in package.glob(pattern)}
        return sorted(str(path.relative_to(package)) for path in found if path.name != "__init__.py")


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
            "ledger",
        ),
    ),
    Part("measure", ("measurement.py",), ("privacy", "gaussian", "seeds", "large_levels", "conformance")),
    Part(
        "verify",
        ("verification.py", "evidence.py"),
        (
            "verification",
            "evidence",
            "releases",
            "large_levels",
            "conformance",
            "gaussian",
            "count_of_counts",
        ),
    ),
    Part(
        "solvers",
        ("postprocess/*.py",),
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
            "qp",
            "conformance",
            "exact_peers",
            "hierarchy",
            "large_levels",
            "evaluation",
        ),
    ),
)
