"""Write what this version writes, for later versions to read: ``python -m tests.earlier``, once it is final.

A folder named like the version appears beside this file. ``tests/test_compatibility.py`` reads all of them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import chdir
from pathlib import Path

from tallytree import __version__
from tests.commands import run_script

HERE = Path(__file__).parent

SPEC = """\
source = "people.csv"
group = "household"
regions = ["state", "county"]
sizes = [1, 4]
person = "person"
quantity = "hours"
max_records = 2
max_quantity = 2
frame = "frame.csv"
missing = "refuse"
epsilon = "1/2"
mechanism = "cumulative-joint"
noise = "digits"
ledger = "ledger.db"
dataset = "people"
replicates = 10
out = "release"

[budget]
root = 1
state = 1
county = "3/2"
"""

SCRIPT = """\
tallytree ledger create ledger.db --dataset people --epsilon 3
tallytree ledger create ledger.db --dataset others --delta 1e-9 --rho 1/4
tallytree release --spec release.toml
tallytree count people.csv --group household --region state --region county --sizes 1:4 --frame frame.csv \
--person person --out counts.parquet
tallytree keygen key.pem
tallytree sign release --key key.pem
tallytree ledger sign ledger.db --key key.pem --out ledger.json
tallytree plan release --epsilon 1 --max-records 2 --data counts.csv --out plan.toml
"""


def write_people() -> None:
    """Write invented people, and the public list of households."""
    regions = [("GA", "Cobb"), ("GA", "Clarke"), ("NY", "Kings")]
    homes = [(f"h{number}", *regions[number % 3]) for number in range(60)]
    people = [
        f"p{number},{','.join(homes[number * number % 57])},{1 + number % 3}\n" for number in range(120)
    ]
    Path("people.csv").write_text("person,household,state,county,hours\n" + "".join(people))
    Path("frame.csv").write_text("household,state,county\n" + "".join(",".join(h) + "\n" for h in homes))


def write_all(folder: Path) -> None:
    """Write a ledger, specs, a release and a file of counts."""
    folder.mkdir()
    with chdir(folder):
        write_people()
        Path("release.toml").write_text(SPEC)
        done = run_script(SCRIPT)
        if done.code:
            raise SystemExit(done.err)
        (folder / "release" / "report.html").unlink()
        (folder / "key.pem").unlink()


if __name__ == "__main__":
    os.umask(0o022)
    place = HERE / __version__
    shutil.rmtree(place, ignore_errors=True)
    write_all(place)
