"""CSV files at their limits: every row is counted, or the file is refused in words that help."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import tallytree
from tallytree.counts.arrow import BLOCK, MOST_COLUMNS
from tallytree.counts.engines.source_files import LONGEST_ROW
from tallytree.errors import CountsError
from tests.bad_input_support import check_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

tt: Any = tallytree

HEADER = "household,state,note\n"
ROWS = "1,GA,a\n2,GA,b\n3,NY,c\n"
BUFFER = 16 * LONGEST_ROW
"""What DuckDB reads at once: of a last row that goes beyond it, nothing was counted."""


def count(path: Path, **options: Any) -> int:
    """How many groups there are in a file."""
    total: int = tt.count_groups(path, group="household", regions=["state"], sizes=(1, 10), **options).total
    return total


def refuse(path: Path, words: str, read: Callable[..., object] = count) -> None:
    with pytest.raises(CountsError) as refused:
        read(path)
    assert re.search(words, str(refused.value)), str(refused.value)
    check_message(str(refused.value), path)


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode(), 1) if path.name.endswith(".gz") else text.encode())
    return path


LAST: dict[str, str] = {
    "plain": "7,GA," + "z" * BUFFER,
    "line-end": "7,GA," + "z" * BUFFER + "\n",
    "line-ends": "7,GA," + "z" * BUFFER + "\r\n\r\n",
    "quotes-first": '"7\n7",GA,' + "z" * BUFFER,
    "quoted": '7,GA,"' + "z" * BUFFER + '"',
    "quoted-lines": '7,GA,"' + "zzzzzzz\n" * (BUFFER // 8) + '"',
    "just-too-long": "7,GA," + "z" * LONGEST_ROW,
}


@pytest.mark.parametrize("last", LAST.values(), ids=LAST)
def test_a_last_row_longer_than_the_buffer_is_not_lost(last: str, tmp_path: Path) -> None:
    refuse(write(tmp_path / "people.csv", HEADER + ROWS + last), "longer than 2,000,000 bytes")


def test_a_last_row_longer_than_the_buffer_is_not_lost_in_a_compressed_file(tmp_path: Path) -> None:
    refuse(write(tmp_path / "people.csv.gz", HEADER + ROWS + LAST["plain"]), "longer than 2,000,000 bytes")


def test_quotes_after_a_long_value_hide_no_row(tmp_path: Path) -> None:
    """The line end in quotes is not the end of a row."""
    text = 'household,state,note,more\n1,GA,a,b\n7,GA,{},"x\ny"\n'
    refuse(
        write(tmp_path / "people.csv", text.format("z" * BUFFER)), "last row .* longer than 2,000,000 bytes"
    )
    assert count(write(tmp_path / "people.csv", text.format("z"))) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_a_last_row_that_is_long_is_counted(name: str, end: str, tmp_path: Path) -> None:
    """Whether a line end follows or not, and wherever in the buffer it is."""
    rows = "".join(f"{number},GA,{'y' * 500}\n" for number in range(10, 10_000))
    for last in ("7,GA," + "z" * (LONGEST_ROW - 100), '7,GA,"' + "z\n" * (LONGEST_ROW // 4) + '"'):
        text = (HEADER + ROWS + rows + last).replace("\n", end)
        for tail in ("", end):
            assert count(write(tmp_path / name, text + tail)) == 4 + 9_990


def test_a_long_row_in_the_middle_is_refused(tmp_path: Path) -> None:
    long = "7,GA," + "z" * BUFFER + "\n"
    refuse(write(tmp_path / "people.csv", HEADER + ROWS + long + ROWS), "longer than 2,000,000 bytes")


def read_regions(path: Path) -> int:
    """How many states a table of regions has."""
    regions: int = tt.read_hierarchy(path, regions=["state"]).leaf_count
    return regions


def test_a_table_with_long_rows_is_refused_or_read(tmp_path: Path) -> None:
    for length in (2 * BLOCK, 40 * BLOCK):
        path = write(tmp_path / "states.csv", HEADER + ROWS + "7,WY," + "z" * length)
        refuse(path, "a line longer than 1,048,576 bytes", read_regions)
    assert read_regions(write(path, HEADER + ROWS + "7,WY," + "z" * (BLOCK // 2))) == 3


READERS = [count, read_regions]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("rows", [1, 200_000])
@pytest.mark.parametrize("cut", [1, 4, 8, 12, 300])
def test_compressed_data_that_are_cut_off_are_called_so(
    cut: int, rows: int, read: Callable[[Path], int], tmp_path: Path
) -> None:
    text = HEADER + ROWS + "".join(f"{number},GA,{number}\n" for number in range(9, rows))
    data = gzip.compress(text.encode())
    path = tmp_path / "people.csv.gz"
    path.write_bytes(data[: -min(cut, len(data) - 20)])
    refuse(path, "cut off, the end of the compressed data is missing", read)


@pytest.mark.parametrize("read", READERS)
def test_compressed_data_that_are_damaged_are_refused(read: Callable[[Path], int], tmp_path: Path) -> None:
    """By their checksum, which DuckDB does not look at."""
    data = gzip.compress((HEADER + ROWS * 1).encode())
    path = tmp_path / "people.csv.gz"
    path.write_bytes(data[:-8] + bytes([data[-8] ^ 1]) + data[-7:])
    refuse(path, "is it damaged", read)
    path.write_bytes(data + b"more")
    refuse(path, "is it damaged", read)
    path.write_bytes(data + gzip.compress(b"4,WY,d\n"))  # two parts are fine
    assert read(path) == 4 if read is count else 3


OPEN_QUOTE = HEADER + ROWS + '4,GA,"d\n5,WY,e\n'
"""Row 5 would be a part of the value in row 4."""
INCHES = HEADER + ROWS + '4,GA,5" pipe\n5,WY,e\n'


def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path: Path) -> None:
    for read in READERS:
        refuse(write(tmp_path / "people.csv", OPEN_QUOTE), "is it damaged|are they damaged", read)
    assert count(write(tmp_path / "people.csv", INCHES)) == 5
    assert read_regions(tmp_path / "people.csv") == 3


def test_a_quote_that_is_not_closed_swallows_no_rows_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    engine = tt.Engine(name="spark")
    path = write(tmp_path / "people.csv", OPEN_QUOTE)
    with pytest.raises(CountsError, match="is it damaged"):
        count(path, engine=engine)
    assert count(write(path, INCHES), engine=engine) == 5


def test_columns_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB lists the columns of a wide table, of 2,049 and more, in any order."""
    backend: Any = import_module("ibis.backends.duckdb").Backend
    schema: Any = import_module("ibis.expr.schema").Schema
    get_schema = backend.get_schema

    def reverse(*arguments: Any, **options: Any) -> Any:
        return schema(dict(list(get_schema(*arguments, **options).items())[::-1]))

    monkeypatch.setattr(backend, "get_schema", reverse)
    assert count(write(tmp_path / "people.csv", HEADER + "1,GA,a\n1,GA,b\n1,GA,c\n2,GA,d\n")) == 2


def test_columns_with_almost_the_same_name_are_not_mixed_up_in_a_wide_parquet_file(tmp_path: Path) -> None:
    """DuckDB may have renamed them, and their order does not tell which is which."""
    names = ["household", "state", "State", *(f"c{number}" for number in range(2_100))]
    path = tmp_path / "people.parquet"
    pa_parquet.write_table(pa.table({name: ["1"] for name in names}), path)
    refuse(path, "more than 2,048 columns, of which some have almost the same name")


def test_of_many_columns_those_that_are_needed_are_read(tmp_path: Path) -> None:
    names = [*(f"c{number}" for number in range(2_100)), "household", "state"]
    rows = [",".join([*["0"] * 2_100, str(number), f"s{number % 5}"]) for number in range(50)]
    path = write(tmp_path / "people.csv", "\n".join([",".join(names), *rows]))
    assert (count(path), read_regions(path)) == (50, 5)


@pytest.mark.parametrize("read", READERS)
def test_more_columns_than_anybody_needs_are_refused_at_once(
    read: Callable[[Path], int], tmp_path: Path
) -> None:
    header = ",".join([*(f"c{number}" for number in range(MOST_COLUMNS)), "household", "state\n"])
    refuse(write(tmp_path / "people.csv", header), "5,002 columns, more than 5,000", read)


def test_numbers_of_other_columns_do_not_matter(tmp_path: Path) -> None:
    """Only the columns that are needed are read: what else there is may hold anything."""
    path = tmp_path / "counts.csv"
    path.write_text("state,size,groups,note\nGA,1,5,1_0\nNY,2, 6 ,x\n")
    counts = tt.GroupCounts.from_table(path, regions=["state"], sizes=(1, 2))
    assert counts.leaf.tolist() == [[5, 0], [0, 6]]
