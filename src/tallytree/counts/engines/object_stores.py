"""Object stores, such as ``s3://bucket/people/*.parquet``: files are copied here once, and counted here.

Credentials come from the environment alone, as every program of the store's owner takes them.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

from tallytree.counts.arrow import PARQUET_ENDINGS, Table
from tallytree.counts.engines.session import private_folder
from tallytree.counts.engines.source_files import MOST_FILES, has_file_ending, is_hidden
from tallytree.errors import EngineError, show
from tallytree.progress import Progress

if TYPE_CHECKING:
    from pyarrow import fs as pa_fs

ADDRESS = re.compile(r"(s3|gs|az)://(.+)", re.DOTALL)

CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT, and AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN",
}
"""The variables of the environment that lead to a store."""

COPIES_AT_ONCE = 8

SECONDS = 30
"""How long to wait for an answer of a store."""

CHANGED = "A file was changed while it was read: count again when nothing writes to it."


@dataclass(frozen=True)
class Store:
    """A store, and what we want of it."""

    scheme: str
    files: pa_fs.FileSystem

    def list_files(self, address: str, pattern: str) -> dict[str, tuple[Any, ...]]:
        """Return the objects that an address stands for, each with what changes when it is written again."""
        from pyarrow import fs as pa_fs

        start = _find_start(pattern)
        found = self.files.get_file_info(start)
        every = [found]
        if found.type == pa_fs.FileType.Directory:
            every = self.files.get_file_info(pa_fs.FileSelector(start, recursive=True))
        paths = [
            info.path for info in every if info.type == pa_fs.FileType.File and _is_wanted(info.path, pattern)
        ]
        if not paths:
            raise EngineError(f"There is no file {show(address, most=150)}.")
        if len(paths) > MOST_FILES:
            raise EngineError(f"There are more than {MOST_FILES} files.")
        return self.stamp(paths)

    def stamp(self, paths: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return size, time and entity tag of objects."""

        def ask(path: str) -> tuple[Any, ...]:
            with self.files.open_input_stream(path) as stream:
                tags = tuple(sorted(stream.metadata().items()))
            info = self.files.get_file_info(path)
            return info.size, info.mtime_ns, tags

        with ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
            return dict(zip(paths, pool.map(ask, paths), strict=True))

    def copy(self, path: str, folder: Path) -> None:
        """Copy an object into a folder, under the same path."""
        from pyarrow import fs as pa_fs

        if set(PurePosixPath(path).parts) & {"..", "/"} or "\0" in path:
            raise EngineError(f"The object {show(path, most=150)} has a name that no file can have.")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pa_fs.copy_files(
            path, str(target), source_filesystem=self.files, destination_filesystem=pa_fs.LocalFileSystem()
        )


def names_objects(source: Table) -> bool:
    """Return whether a source is the address of objects, or a list with such addresses."""
    parts = source if isinstance(source, (list, tuple)) else [source]
    return any(isinstance(part, str) and ADDRESS.match(part) is not None for part in parts)


@contextmanager
def copy_objects(
    sources: Sequence[Table], parent: str | os.PathLike[str] | None, progress: Progress
) -> Iterator[list[Table]]:
    """Copy what sources name in object stores into a private folder; yield the sources with these copies.

    The folder is removed at the end. An object that changes while all are copied is refused.
    """
    if not any(map(names_objects, sources)):
        yield list(sources)
        return
    with private_folder(parent) as folder:
        known: dict[str, str] = {}

        def replace(source: Table) -> Table:
            if isinstance(source, (list, tuple)):
                return [replace(part) for part in source]
            if not names_objects(source):
                return source
            if source not in known:
                known[source] = _bring(source, folder, progress)
            return known[source]

        yield [replace(source) for source in sources]


def _bring(address: str, folder: Path, progress: Progress) -> str:
    """Copy the objects of an address; return the same path or pattern for the copies."""
    found = ADDRESS.fullmatch(address)
    assert found is not None
    scheme, pattern = found[1], found[2].rstrip("/")
    if "@" in pattern.partition("/")[0]:  # what stands before it may be a password: it is not shown
        raise EngineError(f"An address holds no credentials: set {CREDENTIALS[scheme]}.")
    try:
        store = Store(scheme, _open_store(scheme, pattern.partition("/")[0], os.environ))
        before = store.list_files(address, pattern)
        advance = progress("Copying the files", len(before))
        with ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
            for _ in pool.map(lambda path: store.copy(path, folder / scheme), before):
                advance(1)
        if store.stamp(list(before)) != before:
            raise EngineError(CHANGED)
    except EngineError:
        raise
    except Exception as error:  # of any kind: each store has its own, and some hold what nobody should see
        _explain(error, scheme, address)
    return f"{glob.escape(str(folder)) if glob.has_magic(pattern) else folder}/{scheme}/{pattern}"


def _open_store(scheme: str, bucket: str, given: Mapping[str, str]) -> pa_fs.FileSystem:
    from pyarrow import fs as pa_fs

    if scheme == "s3":
        endpoint = given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL")
        region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION")
        if endpoint is None and region is None:
            region = pa_fs.resolve_s3_region(bucket)
        return pa_fs.S3FileSystem(
            endpoint_override=endpoint,
            region=region,
            connect_timeout=SECONDS,
            request_timeout=SECONDS,
            retry_strategy=pa_fs.AwsStandardS3RetryStrategy(max_attempts=3),
        )
    if scheme == "gs":
        return pa_fs.GcsFileSystem(retry_time_limit=timedelta(seconds=SECONDS))
    if "AZURE_STORAGE_ACCOUNT" not in given:
        raise EngineError(f"To read az://..., set {CREDENTIALS[scheme]}.")
    return pa_fs.AzureFileSystem(
        account_name=given["AZURE_STORAGE_ACCOUNT"],
        account_key=given.get("AZURE_STORAGE_KEY"),
        sas_token=given.get("AZURE_STORAGE_SAS_TOKEN"),
    )


def _explain(error: Exception, scheme: str, address: str) -> NoReturn:
    said = str(error)
    if isinstance(error, FileNotFoundError) or "NO_SUCH" in said or "not found" in said.lower():
        raise EngineError(f"There is no file {show(address, most=150)}.") from None
    if re.search("NETWORK|curl|connect|resolve", said, re.IGNORECASE):
        why = "no server answers"
    elif re.search("ACCESS_DENIED|INVALID_|SIGNATURE|Forbidden|40[13]|credential", said, re.IGNORECASE):
        why = "the store does not admit you"
    else:
        why = f"{type(error).__name__}"
    raise EngineError(
        f"{show(address, most=150)} cannot be read ({why}): check {CREDENTIALS[scheme]}."
    ) from None


def _find_start(pattern: str) -> str:
    """The folder of a pattern that is named literally, or all of it."""
    parts = PurePosixPath(pattern).parts
    literal = next((place for place, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return "/".join(parts[:literal])


def _is_wanted(path: str, pattern: str) -> bool:
    """Whether an object is a pattern's, or in a folder of the pattern's and of the kind that folders hold."""
    parts, wanted = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    if _matches(parts, wanted):
        return has_file_ending(path)
    inside = any(_matches(parts[:length], wanted) for length in range(1, len(parts)))
    below = parts[len(PurePosixPath(_find_start(pattern)).parts) :]
    return inside and path.lower().endswith(PARQUET_ENDINGS) and not any(map(is_hidden, below))


def _matches(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a path matches a pattern, part by part; ``**`` stands for any number of parts."""
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_matches(parts[skipped:], wanted[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _matches(parts[1:], wanted[1:])
