"""The page of a ledger: all that was spent is on it, and nothing on it is run or loaded."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import tallytree as tt
from tallytree.drawing.pictures import COLOURS
from tallytree.report.ledger_page import MOST_ROWS, NOBODY, OTHERS, write_ledger_page
from tests.ledger.test_spending import write
from tests.report.report_support import HOSTILE
from tests.report.test_report import Elements


def read_pictures(page: str) -> list[str]:
    return [base64.b64decode(data).decode() for data in re.findall(r"svg\+xml;base64,([^\"]*)", page)]


def test_all_that_was_spent_is_on_it(tmp_path: Path) -> None:
    record = write([0, 10, 40], limit="1/2", owner="office ")
    write_ledger_page(record, "The ledger 'a'", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main>")[2]).split())
    assert "As of 2026-03-12 23:59 (UTC), 7 entries" in text
    assert "Limit per month 1/2 1/10 spent in 2026-03" in text
    assert "Spent 3/10 0% of the total" in text
    assert "office 2 1 1/10" in text
    assert "l1 office 1 &lt;i&gt;x&lt;/i&gt; 1/10 1/5" in text
    assert record.entries[-1].hash in text
    firms, other = read_pictures(page)
    assert "limit 1/2" in firms
    assert all(f"2026-0{month}" in firms for month in (1, 2, 3))
    assert "limit 1/2" not in other


def test_of_many_owners_those_with_little_share_a_colour(tmp_path: Path) -> None:
    write_ledger_page(write(list(range(24)), owner="o"), "t", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    picture = read_pictures(page)[0]
    assert OTHERS in picture
    assert sum(f">o{at}<" in picture for at in range(12)) == len(COLOURS) - 1
    assert all(f"<bdi>o{at}</bdi>" in page for at in range(12))
    write_ledger_page(write([0]), "t", tmp_path / "page.html")
    assert NOBODY in read_pictures((tmp_path / "page.html").read_text(encoding="utf-8"))[0]


def test_a_table_ends_somewhere(tmp_path: Path) -> None:
    record = write([0] * (MOST_ROWS + 5))
    write_ledger_page(record, "t", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"the last 1,000 of {MOST_ROWS + 5:,}" in page
    assert ">l4<" not in page
    assert ">l5<" in page


def test_hostile_names_are_text_and_nothing_may_run(tmp_path: Path) -> None:
    places = [name[:60] for name in HOSTILE if name[:60].isprintable() and name[:60].strip() == name[:60]]
    for name in places:
        tt.Ledger.create(tmp_path / "ledger.db", dataset=name, epsilon=2)
        ledger = tt.Ledger(tmp_path / "ledger.db")
        ledger.charge(1, what=name, dataset=name, label=name, owner=name)
    write_ledger_page(ledger.read(), places[0], tmp_path / "page.html")
    elements = Elements((tmp_path / "page.html").read_text(encoding="utf-8")).found
    (policy,) = [a["content"] for _, a, _ in elements if a.get("http-equiv") == "Content-Security-Policy"]
    (style,) = [text for name, _, text in elements if name == "style"]
    assert policy is not None
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any(name == "script" for name, _, _ in elements)
    assert not any(name.startswith("on") or name == "style" for _, a, _ in elements for name in a)
    shown = [text for name, _, text in elements if name == "bdi"]
    for name in places:
        assert shown.count(name) >= 4
