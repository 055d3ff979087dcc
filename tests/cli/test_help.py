"""What --help says: complete, readable on a narrow terminal, and true, since every example is run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from typer.core import TyperGroup

import tallytree as tt
from tallytree.cli.main import app
from tallytree.cli.manuals import MANUALS
from tallytree.datasets.invented import generate_nation
from tallytree.research.reproduction import measuring, reproduction_page
from tests.commands import Run
from tests.research.reproduction_support import DIRECT, JOINT, SETTINGS, HereAndNow, make_datasets

ROOT = Path(__file__).parents[2]
WIDTHS = ("80", "120")
SUMMARY = 64
"""Characters of a summary that fit on a line of the list of commands, on a terminal of 80 columns."""

REGIONS = {"state": ["GA", "GA", "NY", "NY"], "county": ["Fulton", "Fulton", "Kings", "Queens"]}
PEOPLE = pa.table({"person": [1, 2, 3, 4], "household": [7, 7, 8, 9], **REGIONS})
HOUSEHOLDS = pa.table(
    {
        "household": [7, 8, 9, 5],
        "state": ["GA", "NY", "NY", "NY"],
        "county": ["Fulton", "Kings", "Queens", "Kings"],
    }
)
COUNTS = pa.table({**REGIONS, "size": [1, 2, 1, 3], "groups": [400, 300, 500, 200]})
TOTALS = pa.table(
    {"state": ["GA", "NY", "NY"], "county": ["Fulton", "Kings", "Queens"], "households": [700, 500, 200]}
)

EXAMPLES = [(name, line) for name, manual in MANUALS.items() for _, line in manual.examples]
FEWER_RUNS = {"audit": ["--runs", "50"]}


def find_commands(group: TyperGroup, before: str = "") -> dict[str, str]:
    """Every command's help, by its name with those of its groups before it."""
    found: dict[str, str] = {}
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            found |= find_commands(command, f"{before}{name} ")
        else:
            found[before + name] = command.help or ""
    return found


def get_root() -> TyperGroup:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return root


def test_every_command_has_a_summary_an_explanation_and_a_manual() -> None:
    commands = find_commands(get_root())
    assert commands.keys() == MANUALS.keys()
    for name, text in commands.items():
        summary, explanation = text.split("\n\n", 1)
        assert len(summary) <= (SUMMARY if " " not in name else 80), name
        assert summary.endswith(".")
        assert explanation
        assert len(MANUALS[name].examples) >= 2
        for what in MANUALS[name].see_also:
            command, page = " ".join(what.split()[1:]).partition(" --")[0], ROOT / what
            assert command in {*commands, "ledger"} or page.is_file(), what


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", MANUALS)
def test_help_is_readable_at_any_width(
    name: str, width: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, out, err = run(*name.split(), "--help")
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    for _, example in MANUALS[name].examples:
        for line in example.splitlines():
            assert line.strip() in lines  # unbroken
    for heading in ("Examples", "Exit codes: ", "See also: tallytree "):
        assert any(line.startswith(heading) for line in lines), heading
    assert "<bool>" not in out  # a flag takes nothing
    words = " ".join(out.replace("│", " ").split())
    for text in find_commands(get_root())[name].split("\n\n"):
        assert text in words  # nothing taken for markup
    if name != "mechanisms":
        assert "<str>" not in out.partition("Options")[2]  # every value says what it is


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    folder = tmp_path_factory.mktemp("files")
    with chdir(folder):
        write_files()
    return folder


def write_files() -> None:
    pa_parquet.write_table(PEOPLE, "people.parquet")
    firms = pa.table({"firm": [1, 2, 3, 4], "employees": [3, 70, 1, 1200]})
    for name, column in REGIONS.items():
        firms = firms.append_column(name, pa.array(column))
    pa_parquet.write_table(firms, "register.parquet")
    for table, file in (
        (HOUSEHOLDS, "households"),
        (COUNTS, "counts"),
        (COUNTS, "earlier"),
        (TOTALS, "totals"),
    ):
        pa_csv.write_csv(table, f"{file}.csv")
    Path("release.toml").write_text(
        'source = "counts.csv"\nregions = ["state", "county"]\nsizes = "1:20"\nepsilon = 1\nout = "new"\n'
    )
    square = [[0, 40], [1, 40], [1, 41], [0, 41]]
    shape = {
        "properties": {"STATE": "GA", "COUNTY": "Fulton"},
        "geometry": {"type": "Polygon", "coordinates": [square]},
    }
    Path("counties.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [shape]}))
    Path("public-tables").mkdir()
    ledger = tt.Ledger.create("ledger.db", dataset="census", epsilon="3")
    counts = tt.GroupCounts.from_table("counts.csv", regions=["state", "county"], sizes=(1, 20))
    tt.release(counts, epsilon="1", ledger=ledger).save("release", replicates=0)
    for year in (2020, 2021):
        tt.release(counts, epsilon="1").save(f"release-{year}", replicates=0)
    private = Ed25519PrivateKey.generate()
    Path("key.pem").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("public.pem").write_bytes(
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    areas = pa.table({"area": ["west", "west"], "region": ["all/GA", "all/NY/Kings"]})
    pa_csv.write_csv(areas, "areas.csv")
    shutil.copytree("release", "release-signed")
    tt.sign("release-signed", "key.pem")
    ledger.sign("key.pem", "2026-02.json")
    published = pa.table({"state": ["GA", "NY"], "size": [1, 2], "groups": [700, 700]})
    pa_csv.write_csv(published, "published.csv")


@pytest.fixture
def folder(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with these files, in which the examples run."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(
        "tallytree.datasets.invented.generate_nation",
        lambda sizes=(1, 12): generate_nation(sizes=(1, min(12, sizes[1]))),
    )
    monkeypatch.setattr("tallytree.cli.demo_command.PLANNED", (1, 3))
    monkeypatch.setattr("tallytree.planning.landscapes.SETTINGS", 5)
    monkeypatch.setattr(reproduction_page, "choose_settings", lambda **_: SETTINGS)
    monkeypatch.setattr(reproduction_page, "load_datasets", lambda data: make_datasets())
    monkeypatch.setattr(measuring, "list_contenders", lambda: [DIRECT, JOINT])
    monkeypatch.setattr(measuring, "Child", HereAndNow)
    monkeypatch.setattr(typer, "launch", lambda address: 0)
    return tmp_path


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_the_examples_run(name: str, example: str, folder: Path, run: Run) -> None:
    program, *words = shlex.split(example.replace("\\\n", " "))
    assert program == "tallytree"
    assert " ".join(words).startswith(name)
    if name == "ledger create" or "--out release" in example:
        (folder / "release").rename(folder / "earlier")
        (folder / "ledger.db").unlink()
    code, out, err = run(*words, *FEWER_RUNS.get(name, []))
    assert code == (1 if "calibration=published" in example else 0)
    assert out
    assert "Error" not in err


def test_the_shell_completes_commands_and_options() -> None:
    def complete(*words: str) -> list[str]:
        asked = {"_TALLYTREE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words)}
        done = subprocess.run(
            [sys.executable, "-c", "from tallytree.cli.main import main; main()"],
            env={**os.environ, **asked, "COMP_CWORD": str(len(words) - 1)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert complete("tallytree", "re") == ["release", "report", "reproduce"]
    assert complete("tallytree", "release", "--ep") == ["--epsilon"]
