"""Signed folders: what verifies, and that no byte of them can change unnoticed."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

import tallytree as tt
from tallytree.errors import FolderError, InputError, SignatureError
from tallytree.ledger.envelopes import PAYLOAD_TYPE, encode_for_signing, name_key, write_envelope
from tallytree.releases.released import MANIFEST, REPORT, SIGNATURE
from tallytree.releases.signatures import check_signature
from tests.commands import Run

SECRET = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
OLD = Path(__file__).parent / "folder-0.1.0"


def write_keys(folder: Path, name: str, key: Ed25519PrivateKey) -> None:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.pem").write_bytes(private)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}-public.pem").write_bytes(public)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with keys, and a signed release with intervals and a report."""
    folder = tmp_path_factory.mktemp("signed")
    regions = tt.Hierarchy.from_paths(["nation", "state"], [("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(regions, sizes=(1, 3), leaf=[[40, 30, 20], [60, 20, 10]])
    tt.release(counts, epsilon=1).save(folder / "release", replicates=20)
    write_keys(folder, "key", SECRET)
    write_keys(folder, "other", OTHER)
    assert tt.sign(folder / "release", folder / "key.pem") == folder / "release" / SIGNATURE
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def find_problem(place: Path, key: str = "key-public.pem") -> str:
    """What the check of the signature says; empty if it passed."""
    checks = {check.name: check for check in tt.verify(place / "release", key=place / key).checks}
    check = checks["signature"]
    assert check.made
    assert check.failed == bool(check.example)
    return check.example


def sign_envelope(payload: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
    """An envelope by the right key, of any payload."""
    signature = SECRET.sign(encode_for_signing(kind, payload))
    return write_envelope(payload, signature, name_key(SECRET.public_key()))


def test_a_signed_folder_verifies_with_its_key(made: Path) -> None:
    outcome = tt.verify(made / "release", key=made / "key-public.pem", recompute=True)
    assert outcome
    assert not any(check.name == "other files" for check in outcome.checks)
    assert find_problem(made) == ""


def test_the_envelope_is_that_of_the_specifications(made: Path) -> None:
    envelope = json.loads((made / "release" / SIGNATURE).read_text())
    payload = base64.b64decode(envelope["payload"])
    assert envelope.keys() == {"payload", "payloadType", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    (signature,) = envelope["signatures"]
    signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)
    SECRET.public_key().verify(base64.b64decode(signature["sig"]), signed)
    statement = json.loads(payload)
    assert statement.keys() == {"_type", "subject", "predicateType", "predicate"}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicate"] == json.loads((made / "release" / MANIFEST).read_text())
    names = {path.name for path in (made / "release").iterdir()} - {REPORT, SIGNATURE}
    assert {subject["name"]: subject["digest"] for subject in statement["subject"]} == {
        name: {"sha256": hashlib.sha256((made / "release" / name).read_bytes()).hexdigest()} for name in names
    }


def test_without_the_key_a_signature_is_reported_as_not_checked(made: Path) -> None:
    (check,) = [check for check in tt.load(made / "release").verify().checks if check.name == "signature"]
    assert not check.made
    assert "public key" in check.statement


def test_a_folder_of_the_first_version_can_be_signed(made: Path, tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path / "old")
    tt.sign(tmp_path / "old", made / "key.pem")
    assert tt.verify(tmp_path / "old", key=made / "key-public.pem")


def test_no_byte_of_the_signature_can_change(place: Path) -> None:
    target, manifest = place / "release" / SIGNATURE, tt.load(place / "release").manifest
    content = target.read_bytes()
    for at in range(len(content)):
        for flip in (1, 32, 128):
            changed = bytearray(content)
            changed[at] ^= flip
            target.write_bytes(changed)
            assert check_signature(place / "release", manifest, SECRET.public_key()).failed, (at, flip)


@pytest.mark.parametrize("more", [b"\n", b" ", b"{}", b"\0"])
def test_nothing_can_be_added_to_the_signature(more: bytes, place: Path) -> None:
    target = place / "release" / SIGNATURE
    target.write_bytes(target.read_bytes() + more)
    assert find_problem(place)


@pytest.mark.parametrize(
    "name",
    [MANIFEST, "release.parquet", "measurements.parquet", "intervals.parquet", "summaries.parquet"],
)
def test_no_byte_of_a_signed_file_can_change(name: str, place: Path) -> None:
    target, manifest = place / "release" / name, tt.load(place / "release").manifest
    content = target.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 60)):
        changed = bytearray(content)
        changed[at] ^= 1
        target.write_bytes(changed)
        check = check_signature(place / "release", manifest, SECRET.public_key())
        assert check.failed
        assert check.example == f"{name!r} is not as it was signed"
        with suppress(FolderError):  # it may not even be readable
            assert not tt.verify(place / "release")


def test_a_manifest_with_a_new_digest_is_still_not_the_signed_one(place: Path) -> None:
    from tallytree.releases.manifest import seal

    target = place / "release" / MANIFEST
    manifest = json.loads(target.read_text())
    target.write_text(seal({**manifest, "created": "2020-01-01T00:00:00+00:00"}))
    assert tt.verify(place / "release")
    assert find_problem(place) == "'manifest.json' is not as it was signed"


def test_the_report_can_be_made_again(place: Path, run: Run) -> None:
    (place / "release" / REPORT).unlink()
    assert run("report", str(place / "release")).code == 0
    assert find_problem(place) == ""


def test_intervals_made_after_signing_need_a_new_signature(place: Path, run: Run) -> None:
    assert run("intervals", str(place / "release"), "--replicates", "30").code == 0
    assert find_problem(place) == "'manifest.json' is not as it was signed"
    tt.sign(place / "release", place / "key.pem")
    assert find_problem(place) == ""


def test_another_key_is_found(place: Path) -> None:
    assert find_problem(place, "other-public.pem").startswith("The signature is by another key")
    tt.sign(place / "release", place / "other.pem")
    assert find_problem(place).startswith("The signature is by another key")


def test_a_missing_signature_fails(place: Path) -> None:
    (place / "release" / SIGNATURE).unlink()
    assert find_problem(place) == "signature.json is missing"


def change(edit: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], bytes]:
    def write(envelope: dict[str, Any]) -> bytes:
        edit(envelope)
        return json.dumps(envelope).encode()

    return write


def change_statement(**facts: Any) -> Callable[[dict[str, Any]], bytes]:
    """The same statement with other facts, properly signed."""

    def write(envelope: dict[str, Any]) -> bytes:
        statement = json.loads(base64.b64decode(envelope["payload"]))
        return sign_envelope(json.dumps({**statement, **facts}).encode())

    return write


FOREIGN: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "empty": (lambda _: b"", "not a DSSE envelope"),
    "not JSON": (lambda _: b"\xff", "not a DSSE envelope"),
    "deep": (lambda _: b"[" * 100_000, "not a DSSE envelope"),
    "a list": (lambda _: b"[]", "not a DSSE envelope"),
    "huge": (lambda _: b" " * (2**23 + 1), "larger than"),
    "no payload": (change(lambda envelope: envelope.pop("payload")), "not a DSSE envelope"),
    "not base64": (change(lambda envelope: envelope.update(payload="é=")), "not a DSSE envelope"),
    "payload type": (change(lambda envelope: envelope.update(payloadType="text/plain")), "in-toto"),
    "two signatures": (
        change(lambda envelope: envelope["signatures"].append(envelope["signatures"][0])),
        "exactly one",
    ),
    "no signature": (change(lambda envelope: envelope["signatures"].clear()), "exactly one"),
    "more": (change(lambda envelope: envelope.update(more=1)), "not as Tallytree writes it"),
    "key name": (
        change(lambda envelope: envelope["signatures"][0].update(keyid="a")),
        "not as Tallytree writes it",
    ),
    "signed text": (lambda _: sign_envelope(b"hello"), "in-toto"),
    "signed list": (lambda _: sign_envelope(b"[]"), "in-toto"),
    "statement type": (change_statement(_type="https://in-toto.io/Statement/v0.1"), "in-toto"),
    "predicate type": (change_statement(predicateType="https://slsa.dev/provenance/v1"), "about a release"),
    "no subjects": (change_statement(subject=None), "does not name files"),
    "fewer subjects": (change_statement(subject=[]), "is not as it was signed"),
    "foreign subject": (
        change_statement(subject=[{"name": "../x", "digest": {}}]),
        "is not as it was signed",
    ),
    "predicate": (change_statement(predicate={}), "says more"),
    "other facts": (change_statement(more=1), "says more"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_envelope_fails_with_one_reason(name: str, place: Path) -> None:
    write, reason = FOREIGN[name]
    target = place / "release" / SIGNATURE
    target.write_bytes(write(json.loads(target.read_text())))
    assert reason in find_problem(place)


def test_keys_that_cannot_be_used_are_refused(place: Path) -> None:
    release = place / "release"
    (place / "text.pem").write_text("hello")
    curve = generate_private_key(SECP256R1())
    encrypted = SECRET.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    (place / "curve.pem").write_bytes(curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (place / "curve-public.pem").write_bytes(
        curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (place / "encrypted.pem").write_bytes(encrypted)
    for name, reason in {
        "text.pem": "not a private key",
        "key-public.pem": "not a private key",
        "curve.pem": "not an Ed25519 key",
        "encrypted.pem": "has a password",
        "missing.pem": "no key file",
        "release": "cannot be read",
        "a\0b": "No file",
    }.items():
        with pytest.raises(SignatureError, match=reason):
            tt.sign(release, place / name)
    for name, reason in {
        "text.pem": "not a public key",
        "key.pem": "not a public key",
        "curve-public.pem": "not an Ed25519 key",
        "missing.pem": "no key file",
    }.items():
        with pytest.raises(SignatureError, match=reason) as caught:
            tt.verify(release, key=place / name)
        assert isinstance(caught.value, InputError)


def test_a_release_that_fails_its_checks_is_not_signed(place: Path) -> None:
    target = place / "release" / MANIFEST
    target.write_bytes(target.read_bytes() + b"\n")
    before = (place / "release" / SIGNATURE).read_bytes()
    with pytest.raises(FolderError, match="not signed, because it fails the check 'manifest'"):
        tt.sign(place / "release", place / "key.pem")
    assert (place / "release" / SIGNATURE).read_bytes() == before


def test_the_digest_of_the_manifest_can_be_given(place: Path) -> None:
    digest = hashlib.sha256((place / "release" / MANIFEST).read_bytes()).hexdigest()
    assert tt.verify(place / "release", sha256=digest.upper())
    outcome = tt.verify(place / "release", sha256="0" * 64)
    assert [check.name for check in outcome.checks if check.failed] == ["digest"]
    for wrong in ("", "0" * 63, "g" * 64):
        with pytest.raises(SignatureError, match="64 hexadecimal digits"):
            tt.verify(place / "release", sha256=wrong)


def test_exit_codes(place: Path, run: Run) -> None:
    release, public = str(place / "release"), str(place / "key-public.pem")
    assert run("sign", release, "--key", str(place / "key.pem")).out.startswith("Signed")
    assert run("verify", release, "--key", public, "--quick").code == 0
    assert "not checked" in run("verify", release, "--quick").out
    code, out, _ = run("verify", release, "--key", str(place / "other-public.pem"), "--quick")
    assert code == 1
    assert "FAILED" in out
    assert run("verify", release, "--key", str(place / "none.pem"), "--quick").code == 2
    assert run("verify", release, "--sha256", "12", "--quick").code == 2
    assert run("verify", release, "--sha256", "0" * 64, "--quick").code == 1
    assert run("sign", release, "--key", str(place / "key-public.pem")).code == 2
