"""``python -m tests.fuzzing [--runs N] [TARGET ...]``: guided by coverage, with Atheris.

Each target runs in a process of its own. It begins with whole files and goes on with what reaches new code;
the first input that breaks something is written to ``crash-*`` here.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import random
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def main() -> int:
    """Run the targets one after the other; returns how many broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        fuzz(options.targets[0], options.runs)
    from tests.fuzzing.targets import TARGETS

    broken = []
    for name in options.targets or TARGETS:
        words = [sys.executable, "-m", "tests.fuzzing", "--inside", "--runs", str(options.runs), name]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"{name}: {'broken' if done.returncode else f'{options.runs:,} inputs'}", flush=True)
        if done.returncode:
            broken.append(name)
            print(done.stdout[-3000:])
    return len(broken)


def fuzz(name: str, runs: int) -> None:
    """One target, in this process, which ends with it."""
    import atheris

    import tallytree.privacy.digits
    import tallytree.solvers

    for module in pkgutil.walk_packages(tallytree.solvers.__path__, "tallytree.solvers."):
        with suppress(ImportError):  # compiled code cannot be instrumented, so it is imported before
            importlib.import_module(module.name)
    with atheris.instrument_imports(include=["tallytree"]):
        from tests.fuzzing.targets import TARGETS

    target = TARGETS[name]
    seeds = (target.seed, *target.more_seeds)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return target.damage(data or target.seed, random.Random(seed))[:most]

    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(seeds):
            Path(corpus, f"seed{number}").write_bytes(content)
        words = [
            sys.argv[0],
            corpus,
            f"-runs={runs}",
            "-seed=1",
            f"-max_len={max(4096, 3 * max(map(len, seeds)))}",
            "-print_final_stats=1",
            "-rss_limit_mb=8192",
        ]
        atheris.Setup(words, target.run, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
