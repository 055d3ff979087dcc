"""What users may set about the engine that counts their records."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal, get_args

from tallytree.errors import EngineError, name_choices, show
from tallytree.numerals import find_whole

EngineName = Literal["duckdb", "spark"]
NAMES: tuple[EngineName, ...] = get_args(EngineName)
MASTERS = ("local", "spark://", "yarn", "k8s://")

_MEMORY = re.compile(r"\s*([1-9][0-9]{0,8})\s*([KMGT])(?:i?B)?\s*", re.ASCII | re.IGNORECASE)
_MOST_MEMORY = 2**60


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The engine for files and data frames; a database or a Spark data frame brings its own.

    >>> Engine(memory_limit="8GB").memory_limit
    '8GB'
    """

    name: EngineName = "duckdb"
    master: str | None = None
    """Spark's master; all processors of this machine if None."""
    memory_limit: str | None = None
    """How much memory to use before spilling to disk, such as ``"8GB"``; the engine's own choice if None."""
    spill_folder: str | os.PathLike[str] | None = None
    """Where to spill, in a private folder that is removed; the system's temporary folder if None."""
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise EngineError(f"There is no engine {show(self.name)}: {name_choices(self.name, NAMES)}")
        if self.master is not None and not (isinstance(self.master, str) and self.master.startswith(MASTERS)):
            raise EngineError(
                "Spark's master must be like 'local[2]', 'spark://host:7077', 'yarn' or 'k8s://...'."
            )
        if self.master is not None and self.name != "spark":
            raise EngineError("A master belongs to Spark: set the engine to 'spark' as well.")
        if self.memory_limit is not None:
            self._count_bytes()
        if self.spill_folder is not None and not isinstance(self.spill_folder, (str, os.PathLike)):
            raise EngineError("The spill folder must be given by its path.")
        if self.threads is not None:
            threads = find_whole(self.threads)
            if threads is None or not 1 <= threads <= 4096:
                raise EngineError("The number of threads must be a whole number from 1 to 4096.")
            object.__setattr__(self, "threads", threads)
        if self.name == "spark" and self.threads is not None:
            raise EngineError("Spark's threads are set with its master, such as 'local[2]'.")

    def format_memory(self) -> str | None:
        """The memory limit as a number of mebibytes with the letter m, as the Java world writes it."""
        if self.memory_limit is None:
            return None
        return f"{max(self._count_bytes() // 1024**2, 1)}m"

    def _count_bytes(self) -> int:
        found = _MEMORY.fullmatch(self.memory_limit) if isinstance(self.memory_limit, str) else None
        if found is not None:
            number = int(found[1]) << 10 * (1 + "KMGT".index(found[2].upper()))
            if number <= _MOST_MEMORY:
                return number
        raise EngineError(f"The memory limit {show(self.memory_limit)} is not a size such as 8GB or 500MB.")
