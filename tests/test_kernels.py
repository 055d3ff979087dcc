"""How kernels are compiled and kept."""

from tallytree.kernels import PACKAGE, SOURCES


def test_every_file_that_holds_kernels_decides_where_they_are_kept() -> None:
    """A change of one of them must not meet what was compiled before it."""
    holding = {path for path in PACKAGE.rglob("*.py") if "\n@kernel\n" in path.read_text(encoding="utf-8")}
    assert len(holding) > 15
    assert holding <= set(SOURCES)
