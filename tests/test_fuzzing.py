"""Some hundreds of damaged files of each kind; ``make fuzz`` tries ten thousand, guided by coverage."""

import random

import pytest

from tests.fuzzing.targets import TARGETS

SLOW = {"people-csv": 60, "people-parquet": 60, "ledger": 200}
RUNS = 300


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_file_gives_an_error_of_ours_or_none(name: str) -> None:
    target = TARGETS[name]
    seeds = (target.seed, *target.more_seeds)
    for seed in seeds:
        target.read(seed)
    generator = random.Random(name)
    for _ in range(SLOW.get(name, RUNS)):
        target.run(target.damage(generator.choice(seeds), generator))
