"""Does an installed package work? ``python -I smoke.py VERSION [EXTRA ...]``, in an empty folder.

It needs the package and the standard library only. What an extra is for must work if the extra is named, and
must otherwise name the extra that is missing.
"""

import json
import platform
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import tallytree as tt

COMMAND = [sys.executable, "-I", "-m", "tallytree"]
SCRIPT = str(Path(sys.executable).parent / "tallytree")
PEOPLE = "person,household,state,county\n1,7,GA,Fulton\n2,7,GA,Fulton\n3,8,NY,Kings\n4,9,NY,Queens\n"
RELEASE = "release people.csv --group household --person person --region state --region county --sizes 1:5"
COUNTS = "release counts.csv --region state --sizes 1:2 --epsilon 1"
LIGHT = "gurobipy opendp ortools pandas piqp polars psycopg pyscipopt pyspark scipy shapely"
"""What must not come along without an extra."""

NEEDS = {
    f"{COUNTS} --delta 1e-9 --out gaussian": "opendp",
    f"{COUNTS} --noise opendp --out sampled": "opendp",
    "ledger create rho.db --dataset people --epsilon 1 --delta 1e-9": "opendp",
    f"{COUNTS} --mechanism direct-qip --out program": "solvers",
    f"{COUNTS} --mechanism direct-cp --out tables": "solvers",
    "audit direct-qp --runs 10": "solvers",
    f"{RELEASE} --epsilon 1 --engine spark --out spark": "spark",
    "release postgresql://nobody@localhost/none --table people --group household --region state --sizes 1:5 "
    "--epsilon 1 --out postgres": "postgres",
    "ledger show postgresql://nobody@localhost/none": "postgres",
}


def main(expected: str, extras: list[str]) -> None:
    """Run everything; an assertion fails if something does not work."""
    assert tt.__version__ == version("tallytree") == expected
    assert call("--version") == f"tallytree {expected}\n"
    assert subprocess.run([SCRIPT, "--version"], capture_output=True, check=True).stdout
    assert "Examples" in call("release --help")
    if not extras:
        assert not [name for name in LIGHT.split() if find_spec(name)], "not as light as it should be"
    Path("people.csv").write_text(PEOPLE)
    Path("counts.csv").write_text("state,size,groups\nGA,1,20\nNY,2,30\n")
    assert json.loads(call("demo --out demo --json"))["verification"]["passed"]
    call("verify demo")
    Path("demo/report.html").unlink()
    call("report demo")
    assert Path("demo/report.html").stat().st_size > 100_000
    call("ledger create ledger.db --dataset people --epsilon 1")
    call(f"{RELEASE} --epsilon 1 --ledger ledger.db --out release")
    call("ledger verify ledger.db --release release")
    assert "budget" in call(f"{RELEASE} --epsilon 1 --ledger ledger.db --out again", code=3)
    for line, extra in NEEDS.items():
        said = call(line, code=0 if extra in extras else 2)
        assert extra in extras or f"tallytree[{extra}]" in said, said
    print(f"Python {platform.python_version()}, all well.")


def call(line: str, *, code: int = 0) -> str:
    """What a command prints; if it is to fail, why."""
    done = subprocess.run([*COMMAND, *line.split()], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{line}\n{done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


if __name__ == "__main__":
    main(sys.argv[1], [extra for extra in sys.argv[2:] if extra])
