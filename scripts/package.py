"""Build the packages and try them as a user would: ``python -m scripts.package [PYTHON ...]``.

Wheel and source distribution go to ``dist/``. What is in them is checked; the wheel is installed without any
extra in a clean environment of every Python given (those on the path, if none is); with the first, so are the
source distribution, some extras, and the oldest versions of other packages that are said to do. ``smoke.py``
then runs there.
"""

from __future__ import annotations

import argparse
import email
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SMOKE = ROOT / "scripts" / "smoke.py"
PACKAGE = "src/tallytree/"
EXTRAS_TRIED = "opendp,solvers"
MINORS = range(11, 20)
"""Of the Pythons that are looked for; the first that is supported, and more than there are."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check, install and try; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.package", description=__doc__)
    parser.add_argument("pythons", nargs="*", help="interpreters to try (default: those on the path)")
    pythons = parser.parse_args(arguments).pythons or find_pythons()
    wheel, source = build()
    check_wheel(wheel)
    check_source(source)
    print(f"Built: {wheel.name} ({_kilobytes(wheel)}), {source.name} ({_kilobytes(source)})")
    for python in pythons:
        try_package(wheel, python)
    try_package(source, pythons[0])
    try_package(wheel, pythons[0], extras=EXTRAS_TRIED)
    try_package(wheel, pythons[0], extras="opendp", pins=list_oldest(wheel))
    return 0


def find_pythons() -> list[str]:
    """The Pythons on the path, one of each version; a name there may lead nowhere, as pyenv's do."""
    named = filter(None, (shutil.which(f"python3.{minor}") for minor in MINORS))
    return [python for python in named if _runs(python)] or [sys.executable]


def _runs(python: str) -> bool:
    return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0


def build() -> tuple[Path, Path]:
    """The wheel and the source distribution, in an empty ``dist/``."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", str(DIST), where=ROOT)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, source


def check_wheel(path: Path) -> None:
    """The package as it is in the repository, and what is said about it; nothing else."""
    with ZipFile(path) as wheel:
        about = {name for name in wheel.namelist() if ".dist-info/" in name}
        files = set(wheel.namelist()) - about
    facts = read_metadata(path)
    _require_same(files, {name.removeprefix("src/") for name in list_tracked() if name.startswith(PACKAGE)})
    assert "tallytree/py.typed" in files
    assert any(name.endswith("/licenses/LICENSE") for name in about), "the licence is missing"
    assert facts["Version"] == read_version()
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts["Summary"] and facts["Description-Content-Type"] == "text/markdown"


def read_metadata(path: Path) -> Message:
    """What the wheel says about itself."""
    with ZipFile(path) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(wheel.read(name))


def list_oldest(path: Path) -> str:
    """The oldest version of each package that a wheel asks for, as constraints."""
    needs = read_metadata(path).get_all("Requires-Dist", [])
    bounds = [found.groups() for need in needs if (found := re.match(r"([\w.-]+)>=([\d.]+)", need))]
    return "\n".join(f"{name}=={version}" for name, version in bounds)


def check_source(path: Path) -> None:
    """Everything in the repository that is of use without it, and nothing that is not in it."""
    with tarfile.open(path) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()}
    _require_same(files - {"PKG-INFO"}, {name for name in list_tracked() if not name.startswith(".ci/")})


def _require_same(found: set[str], expected: set[str]) -> None:
    assert found == expected, f"stray: {sorted(found - expected)}; missing: {sorted(expected - found)}"


def list_tracked() -> set[str]:
    """The files of the repository."""
    return set(run("git", "ls-files", where=ROOT).splitlines())


def read_version() -> str:
    """From the one place where it is."""
    text = (ROOT / PACKAGE / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


def try_package(package: Path, python: str, *, extras: str = "", pins: str = "") -> None:
    """Install it in a new environment and run the smoke test there, out of reach of the repository."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        inside = place / "environment" / "bin" / "python"
        run(python, "-m", "venv", "--without-pip", str(place / "environment"))
        wanted = f"{package}[{extras}]" if extras else str(package)
        pip = [sys.executable, "-m", "pip", "--python", str(inside), "--disable-pip-version-check"]
        constraints = place / "constraints.txt"
        constraints.write_text(pins or (ROOT / "constraints.txt").read_text(encoding="utf-8"))
        run(*pip, "install", "--quiet", "-c", str(constraints), wanted)
        run(*pip, "check")
        size = sum(
            file.stat().st_size for file in place.rglob("*") if file.is_file() and not file.is_symlink()
        )
        (place / "work").mkdir()
        said = run(str(inside), "-I", str(SMOKE), read_version(), *extras.split(","), where=place / "work")
    what = f"{package.name}{f' [{extras}]' if extras else ''}{', oldest versions' if pins else ''}"
    print(f"{what}, {size / 1e6:.0f} MB installed: {said.strip()}", flush=True)


def run(*words: str, where: Path | None = None) -> str:
    """What a command prints; if it fails, so does this, with all that it said."""
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _kilobytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e3:.0f} kB"


if __name__ == "__main__":
    sys.exit(main())
