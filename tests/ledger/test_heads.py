"""A signed ledger cannot be cut off or written anew before its statement without being found out."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

import tallytree as tt
from tallytree.errors import FolderError, InputError, LedgerError, SignatureError
from tallytree.ledger.entries import START
from tallytree.ledger.envelopes import read_public_key, sign_statement, write_statement
from tallytree.ledger.heads import PREDICATE_TYPE
from tallytree.releases.signatures import make_keys
from tests.commands import Run
from tests.ledger.ledger_support import make_ledger, read_rows, tamper


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    make_keys(tmp_path / "key.pem")
    return tmp_path


def sign(ledger: tt.Ledger, keys: Path) -> None:
    ledger.sign(keys / "key.pem", keys / "statement.json")


def find_problems(ledger: tt.Ledger, keys: Path, key: str = "key.public.pem") -> dict[str, str]:
    """The checks that fail, with their examples."""
    done = ledger.verify(key=keys / key, statement=keys / "statement.json")
    return {check.name: check.example for check in done.checks if check.failed}


def rewrite(place: str, first: int, amount: str) -> None:
    """Change an entry, and make all hashes anew from it on, as somebody with the database at hand could."""
    rows = read_rows(place)
    previous = rows[first - 2].hash if first > 1 else START
    tamper(place, "DELETE FROM tallytree_ledger_1 WHERE number >= ?", [first])
    for row in rows[first - 1 :]:
        row = replace(row, previous=previous, amount=amount if row.number == first else row.amount)
        row = replace(row, hash=row.compute_hash())
        names = asdict(row)
        marks = ", ".join("?" * len(names))
        tamper(
            place,
            f"INSERT INTO tallytree_ledger_1 ({', '.join(names)}) VALUES ({marks})",
            list(names.values()),
        )
        previous = row.hash


def test_a_ledger_continues_what_was_signed(place: str, keys: Path) -> None:
    ledger = make_ledger(place, charges=["1", "1/3"])
    sign(ledger, keys)
    assert find_problems(ledger, keys) == {}
    ledger.charge("1", what="later")
    tt.Ledger.create(place, dataset="more", epsilon=1)
    assert find_problems(ledger, keys) == {}
    assert len(ledger.verify(key=keys / "key.public.pem", statement=keys / "statement.json").checks) == 3


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_chain_that_was_made_up_anew_is_found(first: int, place: str, keys: Path) -> None:
    ledger = make_ledger(place, charges=["1", "1/3", "1/4"])
    sign(ledger, keys)
    rewrite(place, 4, "1/4")  # the same again
    assert find_problems(ledger, keys) == {}
    rewrite(place, first, "3" if first == 1 else "1/7")
    assert ledger.verify().passed  # without the statement nothing shows it
    assert find_problems(ledger, keys) == {
        "statement": "entry 4 is not the one that was signed: it, or an entry before it, was written anew"
    }


def test_what_is_rewritten_after_the_statement_is_not_its_business(place: str, keys: Path) -> None:
    ledger = make_ledger(place, charges=["1", "1/3"])
    sign(ledger, keys)
    ledger.charge("1/4", what="later")
    rewrite(place, 4, "1/5")
    assert find_problems(ledger, keys) == {}


def test_an_end_that_was_cut_off_is_found(place: str, keys: Path) -> None:
    ledger = make_ledger(place, charges=["1", "1/3"])
    sign(ledger, keys)
    tamper(place, "DELETE FROM tallytree_ledger_1 WHERE number = 3")
    assert ledger.verify().passed
    assert find_problems(ledger, keys) == {
        "statement": "3 entries were signed, and the ledger has 2: its end was cut off"
    }
    ledger.charge("1/9", what="another third entry")
    assert "entry 3 is not the one that was signed" in find_problems(ledger, keys)["statement"]


def test_another_key_and_changed_statements_are_found(keys: Path) -> None:
    ledger = make_ledger(keys / "ledger.db", charges=["1"])
    sign(ledger, keys)
    make_keys(keys / "other.pem")
    assert "by another key" in find_problems(ledger, keys, "other.public.pem")["statement"]
    path = keys / "statement.json"
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert find_problems(ledger, keys).keys() == {"statement"}
    path.write_bytes(whole)
    assert find_problems(ledger, keys) == {}


@pytest.mark.parametrize(
    ("kind", "subjects", "predicate", "problem"),
    [
        ("urn:tallytree:release:1", {}, {}, "not a statement about a ledger"),
        (PREDICATE_TYPE, {}, {}, "does not name an entry"),
        (PREDICATE_TYPE, {}, {"entries": True}, "does not name an entry"),
        (PREDICATE_TYPE, {}, {"entries": 0}, "does not name an entry"),
        (PREDICATE_TYPE, {}, {"entries": 1}, "entry 1 is not the one that was signed"),
        (PREDICATE_TYPE, None, {"entries": 2}, "what was signed is not what the entries up to 2 add up to"),
    ],
)
def test_other_statements_by_the_right_key_say_nothing(
    kind: str, subjects: dict[str, str] | None, predicate: dict[str, object], problem: str, keys: Path
) -> None:
    ledger = make_ledger(keys / "ledger.db", charges=["1"])
    given = {"entry 2": read_rows(keys / "ledger.db")[1].hash} if subjects is None else subjects
    key = load_pem_private_key((keys / "key.pem").read_bytes(), None)
    assert isinstance(key, Ed25519PrivateKey)
    (keys / "statement.json").write_bytes(sign_statement(write_statement(kind, given, predicate), key))
    assert problem in find_problems(ledger, keys)["statement"]


def test_the_statement_says_what_was_spent(keys: Path) -> None:
    ledger = make_ledger(keys / "ledger.db", charges=["1", "1/3"])
    sign(ledger, keys)
    statement = json.loads(base64.b64decode(json.loads((keys / "statement.json").read_text())["payload"]))
    assert statement["subject"] == [{"name": "entry 3", "digest": {"sha256": ledger.read().entries[-1].hash}}]
    assert statement["predicate"]["datasets"] == {
        "census": {"unit": "epsilon", "total": "10", "spent": "4/3", "charges": 2}
    }


def test_a_damaged_ledger_is_not_signed_and_no_statement_is_replaced(keys: Path) -> None:
    ledger = make_ledger(keys / "ledger.db", charges=["1"])
    sign(ledger, keys)
    with pytest.raises(FolderError, match="exists already"):
        sign(ledger, keys)
    (keys / "statement.json").unlink()
    tamper(keys / "ledger.db", "UPDATE tallytree_ledger_1 SET amount = '1/2' WHERE number = 2")
    with pytest.raises(LedgerError, match="entry 2 was changed"):
        sign(ledger, keys)
    assert not (keys / "statement.json").exists()


def test_a_pair_of_keys_is_private_and_overwrites_nothing(tmp_path: Path) -> None:
    public = make_keys(tmp_path / "key.pem")
    assert public == tmp_path / "key.public.pem"
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FolderError, match="exists already"):
        make_keys(tmp_path / "key.pem")
    (tmp_path / "key.pem").rename(tmp_path / "kept.pem")
    with pytest.raises(FolderError, match="exists already"):
        make_keys(tmp_path / "key.pem")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.pem", "key.public.pem"]
    assert (tmp_path / "kept.pem").read_bytes() == before["key.pem"]
    make_keys(tmp_path / "two")
    assert (tmp_path / "two.public.pem").exists()
    assert read_public_key(tmp_path / "two.public.pem") != read_public_key(public)
    with pytest.raises(FolderError, match="cannot be written"):
        make_keys(tmp_path / "no" / "key.pem")


def test_on_the_command_line(run: Run, tmp_path: Path) -> None:
    make_ledger("ledger.db", charges=["1", "1"])
    assert "key.public.pem" in run("keygen", "key.pem").out
    words = ["--statement", "statement.json", "--key", "key.public.pem"]
    assert run("ledger", "sign", "ledger.db", "--key", "key.pem", "--out", "statement.json").code == 0
    assert run("ledger", "verify", "ledger.db", *words).code == 0
    tamper("ledger.db", "DELETE FROM tallytree_ledger_1 WHERE number = 3")
    code, out, _ = run("ledger", "verify", "ledger.db", *words, "--json")
    assert (code, json.loads(out)["passed"]) == (1, False)
    assert run("ledger", "verify", "ledger.db").code == 0
    for wrong, problem in (
        (words[:2], "give both"),
        (words[2:], "give both"),
        (["--statement", "no.json", *words[2:]], "no statement 'no.json'"),
        ([*words[:2], "--key", "key.pem"], "not a public key"),
    ):
        code, _, err = run("ledger", "verify", "ledger.db", *wrong)
        assert code == 2
        assert problem in err


def test_a_key_that_is_missing_is_an_error(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger.db")
    with pytest.raises(SignatureError, match="no key file"):
        ledger.sign(tmp_path / "key.pem", tmp_path / "statement.json")
    with pytest.raises(InputError, match="give both"):
        ledger.verify(key="key.pem")
