"""Whatever stops a release, at any moment: no release without its charge, and words that say its cost."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tallytree as tt
from tallytree.cli.main import main
from tallytree.errors import LedgerError, explain_refusal
from tallytree.ledger.receipts import find_outcome
from tallytree.ledger.store import TABLE, Transaction
from tallytree.privacy.noise import ExactNoise
from tallytree.releases import released
from tests.bad_input_support import check_message, refused
from tests.ledger.ledger_support import (
    make_ledger,
    make_schema,
    read_rows,
    release,
    run_workers,
    sum_charges,
    tamper,
)
from tests.ledger.ledger_workers import TABLE as COUNTS
from tests.servers import run_postgres


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


# Killed.


def check_books(place: str | Path, folder: Path) -> tuple[int, int]:
    """Everything that was released was paid for; how many releases and charges there are."""
    released = [tt.load(path) for path in folder.iterdir() if not path.name.startswith(".")]
    assert all(made.verify().passed for made in released)
    ledger = tt.Ledger(place)
    verification = ledger.verify(released)
    assert verification.passed, verification
    entries = {made.manifest["privacy"]["ledger"]["entry"] for made in released}
    assert len(entries) == len(released)
    assert sum((made.epsilon for made in released), Fraction(0)) <= sum_charges(place)
    assert ledger.balance().spent == sum_charges(place)
    return len(released), len(read_rows(place)) - 1


def check_kills(place: str | Path, folder: Path, how: str, kills: int) -> None:
    make_ledger(place, "1000")
    folder.mkdir()
    found = run_workers("kill", place, folder, how, kills, 20250401)
    assert found["killed"] >= 0.9 * kills, found  # the rest got through before their moment came
    released, charges = check_books(place, folder)
    assert 2 < released < charges  # some were killed after the release, some between charge and release
    release(place).save(folder / "again", replicates=0)
    assert check_books(place, folder) == (released + 1, charges + 1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs ptrace")
def test_killed_at_200_random_system_calls(file: Path, tmp_path: Path) -> None:
    check_kills(file, tmp_path / "out", "calls", 200)


@pytest.mark.slow
def test_killed_at_random_lines(file: Path, tmp_path: Path) -> None:
    check_kills(file, tmp_path / "out", "lines", 50)


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_killed_at_random_lines_with_a_server(postgres: str, tmp_path: Path) -> None:
    check_kills(make_schema(postgres), tmp_path / "out", "lines", 30)


def test_the_check_itself_finds_a_release_without_its_charge(file: Path, tmp_path: Path) -> None:
    make_ledger(file)
    (tmp_path / "out").mkdir()
    for number in range(2):
        release(file).save(tmp_path / "out" / str(number), replicates=0)
    assert check_books(file, tmp_path / "out") == (2, 2)
    tamper(file, f"DELETE FROM {TABLE.name} WHERE number = 3")
    with pytest.raises(AssertionError, match="entry 3, which paid for a release, is missing"):
        check_books(file, tmp_path / "out")


# Told to stop.

NOTHING = "Nothing was spent."
LOST = r"Epsilon 1/10 was spent for nothing: it is entry \d+ of the ledger\."
USED = r"Epsilon 1/10 was spent as entry \d+, and the release was written\."


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_that_is_stopped_at_a_random_line_says_what_it_spent(
    name: str, file: Path, tmp_path: Path
) -> None:
    make_ledger(file, "1000")
    (tmp_path / "out").mkdir()
    answers = run_workers("interrupt", file, tmp_path / "out", name, 20, 20250401)
    codes = {answer["code"] for answer in answers}
    # Python loses a signal in a destructor, and the release is made; one in the middle of taking a lock may
    # end as another error.
    assert 128 + signal.Signals[name] in codes
    assert codes <= {128 + signal.Signals[name], 0, 70}
    assert {answer["spent"] for answer in answers} == {0, 1}
    for answer in answers:
        assert answer["left_behind"] == []
        assert answer["spent"] == 1 or not answer["written"]
        if answer["code"] == 0:
            assert answer["written"]
            continue
        expected = USED if answer["written"] else LOST if answer["spent"] else NOTHING
        message = "Interrupted; nothing half-written was left behind." if answer["code"] != 70 else ".*"
        assert re.match(f"Error: {message} {expected}\n", answer["said"])  # destructors may complain later


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Make a release on the command line; the exit code and what it said about failing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counts.csv").write_text(COUNTS)

    def call(place: str | Path = "ledger.db") -> tuple[int, str]:
        words = ["counts.csv", "--region", "state", "--sizes", "1:3", "--epsilon", "1/10", "--out", "out"]
        monkeypatch.setattr(sys, "argv", ["tallytree", "release", *words, "--ledger", str(place)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert isinstance(stop.value.code, int)
        return stop.value.code, capsys.readouterr().err

    return call


def terminate(*args: object, **options: object) -> None:
    signal.raise_signal(signal.SIGTERM)


def fill_disk(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret")


@pytest.mark.parametrize("when", ["append", "commit", "committed", "noise", "write", "flush"])
def test_a_signal_at_any_step_is_answered_with_what_was_spent(
    when: str, run: Callable[..., tuple[int, str]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ledger(file)
    commit = Transaction.commit

    def stop_after_commit(self: Transaction) -> None:
        commit(self)
        terminate()

    step: dict[str, tuple[object, str, Callable[..., None]]] = {
        "append": (Transaction, "append", terminate),
        "commit": (Transaction, "commit", terminate),
        "committed": (Transaction, "commit", stop_after_commit),
        "noise": (ExactNoise, "draw", terminate),
        "write": (released, "write_file", terminate),
        "flush": (os, "fsync", terminate),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*step[when])
        code, said = run()
    spent = when not in ("append", "commit")
    assert (code, bool(re.search(LOST, said)), NOTHING in said) == (143, spent, not spent)
    assert len(read_rows(file)) == 1 + spent
    assert sorted(path.name for path in file.parent.iterdir()) == ["counts.csv", "ledger.db"]
    assert run() == (0, "")


# Full disks, and places that may not be written to.


@pytest.mark.parametrize("when", ["write", "flush"])
def test_a_full_disk_after_the_charge_says_what_was_spent(
    when: str, run: Callable[..., tuple[int, str]], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ledger(file)
    with monkeypatch.context() as patch:
        patch.setattr(*{"write": (released, "write_file"), "flush": (os, "fsync")}[when], fill_disk)
        code, said = run()
    assert code == 2
    check_message(said.removesuffix("\n").removeprefix("Error: "), file.parent)
    assert re.fullmatch(f"Error: '.*out' cannot be written: No space left on device. {LOST}\n", said)
    assert sorted(path.name for path in file.parent.iterdir()) == ["counts.csv", "ledger.db"]
    assert run() == (0, "")
    assert len(read_rows(file)) == 3


def test_a_ledger_on_a_full_disk_refuses_and_stays_whole(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = make_ledger(file)
    connect = sqlite3.connect

    def connect_full(*words: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*words, **options)
        connection.execute("PRAGMA max_page_count = 1")  # that is: no more than there are
        return connection

    charged = 0
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_full)
        patch.setattr(ExactNoise, "draw", lambda *words: pytest.fail("noise was drawn"))
        with refused(LedgerError, "No space left on device", file.parent) as caught:
            while charged < 1000:  # until the last page is full
                ledger.charge("1/100", what="x")
                charged += 1
        assert find_outcome(caught.value) == NOTHING
        with pytest.raises(LedgerError, match="No space left on device"):
            release(ledger)
    assert charged > 0
    assert ledger.verify().passed
    assert sum_charges(file) == Fraction(charged, 100)
    assert release(ledger).manifest["privacy"]["ledger"]["entry"] == charged + 2


@contextmanager
def limit_files(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: a write fails in its middle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_at_any_byte_spends_nothing_or_all(file: Path) -> None:
    ledger = make_ledger(file, charges=["1/100"] * 20)
    end = file.stat().st_size
    outcomes = set()
    for size in range(0, end + 6000, 700):
        before = len(read_rows(file))
        try:
            with limit_files(size):
                ledger.charge("1/100", what="x" * 400)
            spent = 1
        except LedgerError as error:
            check_message(str(error), file.parent)
            # While the disk stays full, a write that broke off cannot be undone, and nobody can read.
            assert find_outcome(error) == NOTHING or find_outcome(error).startswith("Epsilon 1/100 may have")
            spent = 0
        assert len(read_rows(file)) == before + spent
        outcomes.add(spent)
    assert outcomes == {0, 1}
    assert ledger.verify().passed


@contextmanager
def restricted(file: Path, *, mode: int, folder_mode: int) -> Iterator[None]:
    """Take rights away; root, who may do everything, becomes a user who may not."""
    is_root = os.geteuid() == 0
    file.chmod(mode)
    file.parent.chmod(folder_mode)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        file.parent.chmod(0o700)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "reads"),
    [(0o444, 0o755, True), (0o444, 0o555, True), (0o666, 0o555, True), (0o000, 0o555, False)],
)
def test_a_ledger_that_may_not_be_written_to_refuses(
    file_mode: int, folder_mode: int, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExactNoise, "draw", lambda *words: pytest.fail("noise was drawn"))
    with tempfile.TemporaryDirectory(prefix="tallytree-ledger-") as name:  # where others may look
        file = Path(name) / "ledger.db"
        ledger = make_ledger(file, charges=["1"])
        with restricted(file, mode=file_mode, folder_mode=folder_mode):
            with pytest.raises(LedgerError, match=r"cannot be used: it.* may not be") as refused:
                release(ledger)
            assert find_outcome(refused.value) == NOTHING
            check_message(str(refused.value), file.parent)
            if reads:  # to look at it, one need not be able to write
                assert tt.Ledger(file).balance().spent == 1
                assert ledger.verify().passed
            with pytest.raises(LedgerError, match="may not be"):
                tt.Ledger.create(file, dataset="other", epsilon=1)
            if folder_mode == 0o555:
                with pytest.raises(LedgerError, match="Permission denied"):
                    tt.Ledger.create(file.with_name("new.db"), dataset="other", epsilon=1)
        release_again = tt.Ledger(file).charge(1, what="release") if file_mode == 0o666 else None
        assert release_again is None or release_again.entry == 3


def test_a_ledger_that_vanishes_in_between_refuses(file: Path) -> None:
    ledger = make_ledger(file)
    file.rename(file.with_name("elsewhere"))
    with pytest.raises(LedgerError, match="may not be opened") as refused:
        release(ledger)
    assert find_outcome(refused.value) == NOTHING
    assert [path.name for path in file.parent.iterdir()] == ["elsewhere"]
    file.with_name("elsewhere").rename(file)
    release(ledger)


def test_a_ledger_that_others_hold_refuses(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallytree.ledger.sqlite_store.WAIT_SECONDS", 0)
    ledger = make_ledger(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"others were writing to it.*run this again") as refused:
        release(ledger)
    assert find_outcome(refused.value) == NOTHING
    other.execute("ROLLBACK")
    other.execute("BEGIN")
    other.execute(f"SELECT * FROM {TABLE.name}").fetchone()  # a reader holds up the commit
    with pytest.raises(LedgerError, match="others were writing to it") as refused:
        release(ledger)
    assert find_outcome(refused.value) == NOTHING
    other.close()
    assert release(ledger).manifest["privacy"]["ledger"]["entry"] == 2


# A server that is not there, not any more, or does not let everybody in.


@pytest.mark.xdist_group("postgres")
def test_a_server_that_lets_nobody_in_is_one_clear_error(postgres: str) -> None:
    place = make_schema(postgres)
    wrong = {
        place.replace("it%27s%20secret", "wrong-secret"): "the server knows no such user, or the password is",
        place.replace("tester:", "nobody:"): "the server knows no such user, or the password is wrong",
        place.replace("it%27s%20secret", ""): "the server wants a password",
        place.replace("/postgres?", "/no-such-secret?"): "the server has no such database",
        re.sub(r":\d+/", ":1/", place): "no server answers at this host and port",
    }
    for address, reason in wrong.items():
        for use in (tt.Ledger, lambda address: tt.Ledger.create(address, dataset="d", epsilon=1), release):
            with refused(LedgerError, f"there is no connection: {reason}") as caught:
                use(address)
            assert "secret" not in repr(caught.value)
    with pytest.raises(LedgerError, match=r"the database has none.*tallytree ledger create"):
        tt.Ledger(place)
    assert "secret" not in repr(make_ledger(place))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('FATAL:  role "password authentication failed" does not exist', "the server knows no such user$"),
        ('FATAL:  role "nobody" is not permitted to log in', "the user may not log in"),
        ('FATAL:  permission denied for database "d"', "the user may not connect to this database"),
        ('FATAL:  no pg_hba.conf entry for host "h", user "u"', "does not admit this user from here"),
        ("FATAL:  sorry, too many clients already", "too many connections"),
        ("FATAL:  the database system is starting up", "try again later"),
        ("failed to resolve host 'h': [Errno -2] Name or service not known", "there is no such host"),
        ("connection timeout expired", "does not answer in time"),
        ("FATAL:  terminating connection due to administrator command", "the server ended it"),
        ("FATAL:  la base de données « d » n'existe pas", "check the URL, the user and the password"),
    ],
)
def test_why_a_server_lets_nobody_in_is_said(said: str, reason: str) -> None:
    assert re.search(reason, explain_refusal(psycopg.OperationalError(f"connection failed:\n{said}")))


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("setting", ["synchronous_commit=off", "default_transaction_isolation=serializable"])
def test_the_defaults_of_a_server_do_not_weaken_a_charge(
    setting: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{make_schema(postgres)}%20-c{setting}"
    ledger = make_ledger(place)
    seen = []
    commit = Transaction.commit

    def look(self: Transaction) -> None:
        for name in ("synchronous_commit", "transaction_isolation"):
            seen.append(self._connection.exec_driver_sql(f"SHOW {name}").scalar_one())
        commit(self)

    monkeypatch.setattr(Transaction, "commit", look)
    ledger.charge(1, what="release")
    assert seen == ["on", "read committed"]


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("when", ["append", "commit", "committed"])
def test_a_session_that_the_server_ends_spends_nothing_or_says_so(
    when: str, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_schema(postgres)
    ledger = make_ledger(place)
    append, commit = Transaction.append, Transaction.commit

    def end_session(self: Transaction) -> None:
        session = self._connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        if when == "committed":
            commit(self)
        tamper(place, "SELECT pg_terminate_backend(?)", [session])

    def append_late(self: Transaction, entry: Any) -> None:
        end_session(self)
        append(self, entry)

    def commit_late(self: Transaction) -> None:
        end_session(self)
        if when == "committed":
            raise LedgerError("The ledger in the database cannot be used: there is no connection.")
        commit(self)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, *("append", append_late) if when == "append" else ("commit", commit_late))
        patch.setattr(ExactNoise, "draw", lambda *words: pytest.fail("noise was drawn"))
        with pytest.raises(LedgerError, match="there is no connection") as refused:
            release(ledger)
    assert (
        find_outcome(refused.value)
        == {
            "append": NOTHING,
            # The server may have finished it, or may be about to: only presence proves anything.
            "commit": "Epsilon 1 may have been spent for nothing; if so, it is entry 2 of the ledger.",
            "committed": "Epsilon 1 was spent for nothing: it is entry 2 of the ledger.",
        }[when]
    )
    assert len(read_rows(place)) == (2 if when == "committed" else 1)
    release(ledger)
    assert ledger.verify().passed


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("when", ["before", "commit", "noise"])
def test_a_server_that_stops_in_between(
    when: str, run: Callable[..., tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as server:
        place = server.enter_context(run_postgres())
        make_ledger(place)
        draw, commit = ExactNoise.draw, Transaction.commit

        def draw_late(self: ExactNoise, *words: Any) -> Any:
            if when == "noise":
                server.close()
            else:
                pytest.fail("noise was drawn")
            return draw(self, *words)

        def commit_late(self: Transaction) -> None:
            if when == "commit":
                server.close()
            commit(self)

        monkeypatch.setattr(ExactNoise, "draw", draw_late)
        monkeypatch.setattr(Transaction, "commit", commit_late)
        if when == "before":
            server.close()
        code, said = run(place)
    if when == "noise":  # it was paid for: the ledger is no longer needed
        assert (code, said) == (0, "")
        assert tt.load(tmp_path / "out").verify().passed
        return
    assert code == 4
    check_message(said.removesuffix("\n").removeprefix("Error: "))
    assert "there is no connection" in said
    assert "secret" not in said
    assert ("Epsilon 1/10 may have been spent for nothing" in said) == (when == "commit")
    assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]
