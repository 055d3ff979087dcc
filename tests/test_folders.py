"""Files appear complete or not at all."""

import errno
import os
from pathlib import Path

import pytest

from tallytree.errors import FolderError
from tallytree.files import replace_file, write_lasting, write_whole


def test_a_file_is_replaced_by_a_whole_one(tmp_path: Path) -> None:
    target = tmp_path / "page"
    write_whole(target, b"old")
    with pytest.raises(KeyboardInterrupt), replace_file(target) as stage:
        stage.write_bytes(b"ne")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    write_whole(target, b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["page"]
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_to() -> None:
    end, begin = os.pipe()
    write_whole(Path(f"/dev/fd/{begin}"), b"text")
    os.close(begin)
    with os.fdopen(end, "rb") as pipe:
        assert pipe.read() == b"text"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="cannot be written: Is a directory"):
        write_whole(tmp_path, b"text")
    with pytest.raises(FolderError, match="cannot be written: File name too long"):
        write_whole(tmp_path / ("x" * 300), b"text")


def test_what_is_to_last_is_on_the_disk_before_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, done, sync, replace = tmp_path / "manifest", list[str](), os.fsync, Path.replace

    def note_flush(handle: int) -> None:
        done.append("folder" if Path(f"/proc/self/fd/{handle}").resolve() == tmp_path else "file")
        sync(handle)

    def note_replace(stage: Path, target: Path) -> Path:
        done.append("replace")
        return replace(stage, target)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(Path, "replace", note_replace)
    write_lasting(target, b"old")
    assert done == ["file", "replace", "folder"]

    def fill_disk(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_disk)
    with pytest.raises(FolderError, match="No space left"):
        write_lasting(target, b"new")
    assert target.read_bytes() == b"old"
