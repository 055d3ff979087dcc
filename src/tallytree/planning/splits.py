"""The split of the budget over the levels that suits a goal best, in whole percent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

PERCENT = 100


def find_split(levels: Sequence[str], score: Callable[[dict[str, int]], float]) -> dict[str, int]:
    """The split with the least ``score`` that moving percents from level to level leads to.

    From an even split, take the best move of so many percent from one level to another as long as one helps,
    then try smaller moves, down to one percent. ``score`` must give one split always the same number.
    """
    best = even_split(levels)
    known = {tuple(best.values()): score(best)}
    step = PERCENT // 4
    while step >= 1:
        moved = [
            {name: best[name] + step * ((name == to) - (name == source)) for name in levels}
            for source, to in permutations(levels, 2)
            if best[source] > step
        ]
        for split in moved:
            if tuple(split.values()) not in known:
                known[tuple(split.values())] = score(split)
        better = min([best, *moved], key=lambda split: known[tuple(split.values())])
        if better is best:
            step //= 2
        best = better
    return best


def even_split(levels: Sequence[str]) -> dict[str, int]:
    """As near to even as whole percents are; the last levels get what is left over."""
    share, over = divmod(PERCENT, len(levels))
    return {name: share + (place >= len(levels) - over) for place, name in enumerate(levels)}
