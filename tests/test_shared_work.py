"""How work is shared by processors, and how leaves are cut into parts for that."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from threading import get_ident

import numpy as np
import pytest

from tallytree.kernels import WORTH_SHARING, RowPool, share_work, stream_work
from tallytree.solvers.joint.leaf_fits import cut_nodes
from tallytree.solvers.layout import Tree


@pytest.fixture(params=[1, 2, 5])
def processors(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many of them, whatever the machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tallytree.kernels.count_processors", lambda: request.param)
        yield request.param


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, 7, 100])
def test_every_row_is_worked_on_once(rows: int, processors: int) -> None:
    done = np.zeros(rows, dtype=np.int64)
    taken: list[tuple[int, int, int]] = []

    def work(some: slice) -> None:
        done[some] += 1
        taken.append((some.start, some.stop, get_ident()))

    RowPool(rows).run(work)
    assert (done == 1).all()
    assert len(taken) == max(1, min(rows, processors))
    lengths = [stop - start for start, stop, _ in taken]
    assert max(lengths) - min(lengths) <= 1
    first = min(taken)
    assert first[2] == get_ident()  # this thread takes the first rows, and others the rest
    assert all(thread != get_ident() for start, _, thread in taken if start > first[0])


def test_what_fails_in_a_thread_fails_here(processors: int) -> None:
    def work(some: slice) -> None:
        if some.stop == 10:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        RowPool(10).run(work)
    with pytest.raises(ZeroDivisionError):
        share_work(lambda number, item: number // item, [1, 1, 0])


def test_items_are_shared_by_threads_and_come_back_in_order(processors: int) -> None:
    here = get_ident()
    found = share_work(lambda number, item: (number, item, get_ident() != here), list("abcd"))
    assert found == [(number, item, processors > 1) for number, item in enumerate("abcd")]
    alone = share_work(lambda number, item: (number, item, get_ident() == here), ["a"])
    assert alone == [(0, "a", True)]


def test_a_stream_is_in_order_and_goes_no_further_ahead_than_there_are_processors(processors: int) -> None:
    asked: list[int] = []

    def list_items() -> Iterator[int]:
        for item in range(12):
            asked.append(item)
            yield item

    squares = stream_work(lambda item: item**2, stream_work(lambda item: item + 1, list_items()))
    for number, square in enumerate(squares, 1):
        assert square == number**2
        assert len(asked) <= min(number + 2 * processors + 1, 12)
    assert number == 12


def test_a_stream_that_fails_or_is_left_starts_nothing_more(processors: int) -> None:
    done: list[int] = []

    def work(item: int) -> int:
        done.append(item)
        return 1 // (item - 3)

    with pytest.raises(ZeroDivisionError):
        list(stream_work(work, range(100)))
    assert len(done) <= 4 + processors + 1
    stream = stream_work(work, range(4, 100))
    assert next(stream) == 1
    done.clear()
    del stream
    assert len(done) <= processors + 1


def _note_thread(threads: list[int], rows: object) -> None:
    threads.append(get_ident())


def test_little_work_stays_in_this_thread() -> None:
    here, few = get_ident(), WORTH_SHARING - 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tallytree.kernels.count_processors", lambda: 3)
        for cells, pieces in ((few, 1), (WORTH_SHARING, 3)):
            threads: list[int] = []
            RowPool(100, cells).run(partial(_note_thread, threads))
            assert len(threads) == pieces
            shared = share_work(lambda *_: get_ident(), range(9), cells)
            assert (set(threads) == {here}) == (set(shared) == {here}) == (pieces == 1)


def test_threads_do_not_wait_for_each_other(processors: int) -> None:
    """Work within work stays in its thread: all threads may be busy with such work."""
    outside = get_ident()

    def nested(number: int, item: int) -> bool:
        here = get_ident()
        others: list[int] = []
        RowPool(100).run(lambda some: others.append(get_ident()))
        others += share_work(lambda *_: get_ident(), [1, 2, 3])
        return here == outside or others == [here] * 4

    assert all(share_work(nested, list(range(20))))


@pytest.mark.parametrize(
    ("sizes", "most"),
    [(100, 2**16), (1000, None), (20_000, 2**21)],
    ids=["as few as are worth a thread", "a sixteenth of all", "as many as fit"],
)
def test_parts_are_on_one_level_and_as_large_as_may_be(sizes: int, most: int | None) -> None:
    rng = np.random.default_rng(sizes)
    families = np.concatenate([np.zeros(1), rng.integers(0, 4, 300), rng.integers(1, 7, 900)])
    families[1000] = 2000  # more than a part holds at any rate
    family = np.concatenate([[0], np.cumsum(families)]).astype(np.int64)
    level = np.repeat(np.arange(3), [1, 300, 900])
    tree = Tree(level, np.zeros(1201, dtype=np.int64), np.zeros(1202, dtype=np.int64), family)
    parts = cut_nodes(tree, sizes)
    assert parts[0][0] == 0 and parts[-1][1] == 1201
    assert all(before[1] == after[0] for before, after in pairwise(parts))
    most = int(family[-1]) * sizes // 16 if most is None else most
    assert 2**16 <= most <= 2**21
    for first, stop in parts:
        assert level[first] == level[stop - 1]
        cells = (family[stop] - family[first]) * sizes
        assert cells <= most or stop - first == 1
        if stop < 1201 and level[stop] == level[first]:  # the next node would have been too much
            assert (family[stop + 1] - family[first]) * sizes > most
