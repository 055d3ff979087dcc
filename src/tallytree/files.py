"""Folders and files that appear complete or not at all."""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallytree.errors import FolderError, describe, show


@contextmanager
def new_folder(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a private folder to fill, which becomes ``target`` when the block ends without an error.

    If anything goes wrong, even an interruption, nothing is left behind. The folder is made before the
    block runs, so that a place that cannot be written to is found out before any work is done. With
    ``replace``, an earlier folder at ``target`` is replaced by the new one.
    """
    target, shown = target.absolute(), show(target, most=150)
    if _exists(target) and not (replace and target.is_dir() and not target.is_symlink()):
        raise FolderError(f"{shown} exists already: choose another place.")
    parents = [parent for parent in target.parents if not parent.exists()]
    # Its name is known before it exists, so that a signal at any moment finds what to remove.
    stage = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage.mkdir(mode=0o700)
        yield stage
        _put_in_place(stage, target)
        parents = []
    except OSError as error:
        raise FolderError(f"{shown} cannot be written: {describe(error)}.") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for parent in parents:  # only what was made here, and only while it is empty
            with suppress(OSError):
                parent.rmdir()


@contextmanager
def new_file(target: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Yield a file to write, which becomes ``target`` when the block ends without an error.

    A private file can be read by nobody else, from its beginning.
    """
    target, shown = target.absolute(), show(target, most=150)
    if _exists(target):
        raise FolderError(f"{shown} exists already: choose another name.")
    stage = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(stage, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_private else 0o666))
        yield stage
        flush(stage)
        stage.rename(target)
        flush(target.parent)
    except OSError as error:
        raise FolderError(f"{shown} cannot be written: {describe(error)}.") from None
    finally:
        with suppress(OSError):  # a read-only file system refuses that as well
            stage.unlink()


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Yield a file to write, which becomes ``target``, or replaces it, when the block ends without an error.

    Readers find the old content or the new content, never a part. A pipe or a device, as in
    ``--out /dev/stdout``, is written to directly.
    """
    stage = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}"
    try:
        if target.exists() and not target.is_file():
            yield target
        else:
            yield stage
            stage.replace(target)
    except OSError as error:
        raise FolderError(f"{show(target, most=150)} cannot be written: {describe(error)}.") from None
    finally:
        with suppress(OSError):
            stage.unlink(missing_ok=True)


def write_new(target: Path, content: bytes) -> None:
    """Write ``content`` to a file that does not exist yet, which others may read."""
    with new_file(target) as stage:
        stage.write_bytes(content)


def write_whole(target: Path, content: bytes) -> None:
    """Write ``content`` to ``target``, as with :func:`replace_file`."""
    with replace_file(target) as stage:
        stage.write_bytes(content)


def write_lasting(target: Path, content: bytes) -> None:
    """Write ``content`` like :func:`write_whole`, and flush it to the disk, in case the power fails."""
    with replace_file(target) as stage:
        stage.write_bytes(content)
        flush(stage)
    flush(target.parent)


def _exists(target: Path) -> bool:
    try:
        target.lstat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise FolderError(f"{show(target, most=150)} cannot be written: {why}.") from None
    return True


def _put_in_place(stage: Path, target: Path) -> None:
    for file in stage.iterdir():
        flush(file)
    flush(stage)
    stage.chmod(0o755)
    if target.exists():
        # Two renames: in between, the old folder is beside the new one, and goes back if the second fails.
        old = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
        try:
            target.rename(old)
            stage.rename(target)
        finally:
            if not target.exists():
                old.rename(target)
            shutil.rmtree(old, ignore_errors=True)
    else:
        stage.rename(target)
    flush(target.parent)


def flush(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
