"""The tool that breaks code on purpose: what it changes, and that it tells the noticed from the unnoticed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from scipy.stats import binomtest
from scripts.mutation.mutants import Mutant, find_mutants
from scripts.mutation.page import Tally, find_interval, write_page
from scripts.mutation.parts import ROOT, TALLYTREE
from scripts.mutation.results import (
    Explanation,
    add_result,
    read_explanations,
    read_missed,
    read_results,
    sample_mutants,
)
from scripts.mutation.runs import Result, choose_tests
from scripts.mutation.survey import TestFacts


def list_changes(source: str) -> list[str]:
    return [mutant.after for mutant in find_mutants(textwrap.dedent(source), "toy.py")]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a < b", ["(a <= b)", "(a >= b)"]),
        ("a == b != c", ["(a != b != c)", "(a == b == c)"]),
        ("x = a + b * c", ["x = (a - b * c)", "x = a + (b / c)"]),
        ("x = 'a' + b", []),
        ("x = 7", ["x = 8"]),
        ("x = True", ["x = False"]),
        ("x = a and b", ["x = (a or b)", "x = b", "x = a"]),
        ("x = not a", ["x = a"]),
        ("x = -a", ["x = a"]),
        ("x = np.minimum(a, b)", ["x = np.maximum(a, b)"]),
        ("x = f(a, b)", ["x = f(b, a)"]),
        ("x = f(*a)", []),
        ("x = zip(a, b, c, strict=True)", []),
        ("x = a[b:]", ["x = a[b + 1:]", "x = a[b:-1]"]),
        ("x = a if b else c", ["x = (c if b else a)"]),
        ("x += 1", ["pass", "x -= 1", "x += 2"]),
        ("x.y = z", ["pass"]),
        ("f()", ["pass"]),
        ("raise ValueError(1 + 1)", ["pass"]),
        ("def f():\n    return g", ["return None"]),
        ("for x in y:\n    break", ["continue"]),
        ('"""A text: 1 + 1."""', []),
        ("x: Literal[1]", []),
        ("def f(x: A[1]) -> B[1]: ...", []),
        ("@f(1)\ndef g(): ...", []),
        ("def __repr__(self):\n    return 1", []),
        ("x = f'{a + b}'", []),
        ("from a import b", []),
    ],
)
def test_what_is_changed(source: str, changes: list[str]) -> None:
    assert list_changes(source) == changes


def test_a_change_says_where_it_is_and_which_tests_can_see_it() -> None:
    source = "A = 1\n\n\n@kernel\ndef f(x):\n    return (\n        x\n        + 1\n    )\n"
    constant, *others = find_mutants(source, "toy.py")
    assert (constant.line, constant.on_import, constant.compiled) == (1, True, True)
    for mutant in others:
        assert (mutant.lines, mutant.scope, mutant.on_import, mutant.compiled) == ((6, 9), "f", False, True)
    assert "x - 1" in others[1].source


def test_keys_tell_mutants_apart_and_outlive_changes_elsewhere() -> None:
    source = "def f(x):\n    y = x + 1\n    y = x + 1\n    return y\n"
    here = [mutant.key for mutant in find_mutants(source, "toy.py")]
    moved = [mutant.key for mutant in find_mutants(f"import a\n\n\n{source}", "toy.py")]
    assert here == moved
    assert len(set(here)) == len(here)


def test_a_sample_is_the_same_again_and_grows_by_adding() -> None:
    mutants = find_mutants("x = 1 + 2 + 3 + 4 + 5 + 6\n", "toy.py")
    few, more = sample_mutants(mutants, 3, seed=1), sample_mutants(mutants, 6, seed=1)
    assert more[:3] == few
    assert sample_mutants(mutants, 6, seed=2) != more
    assert len(sample_mutants(mutants, None, seed=1)) == len(mutants)


def make_mutant(source: str = "def f(a, b):\n    return a < b\n", place: int = 1) -> Mutant:
    return find_mutants(source, "toy.py")[place]


def test_the_quickest_tests_that_reach_a_line_are_chosen() -> None:
    facts = [
        TestFacts("test_toy.py", name, seconds, {"toy.py": frozenset(lines)})
        for name, seconds, lines in [
            ("slow", 9, [2]),
            ("quick", 1, [2]),
            ("elsewhere", 0, [1]),
            ("next", 2, [2]),
        ]
    ]
    chosen = choose_tests(make_mutant(), facts, {"toy": set()}, budget=3)
    assert [test.name for test in chosen] == ["quick", "next"]
    # One is always run, however slow.
    assert [test.name for test in choose_tests(make_mutant(), facts[:1], {"toy": set()}, budget=3)] == [
        "slow"
    ]


def test_a_changed_kernel_is_seen_by_the_tests_of_whoever_uses_it() -> None:
    kernel = make_mutant("@kernel\ndef f(a, b):\n    return a < b\n")
    graph = {"toy": set[str](), "user": {"toy"}, "other": set[str]()}
    facts = [
        TestFacts("test_toy.py", file, 1, {f"{file}.py": frozenset([1])}) for file in ("toy", "user", "other")
    ]
    facts.append(TestFacts("test_kernels.py", "direct", 2, {}, "from package.toy import f"))
    assert [test.name for test in choose_tests(kernel, facts, graph, budget=9)] == ["direct", "toy", "user"]


def test_a_kernel_that_is_not_compiled_is_seen_by_the_tests_that_run_its_lines() -> None:
    kernel = make_mutant("@kernel\ndef f(a, b):\n    return a < b\n")
    facts = [
        TestFacts("test_toy.py", name, 1, {"toy.py": frozenset(lines)})
        for name, lines in [("elsewhere", [9]), ("here", [3])]
    ]
    facts.append(TestFacts("test_toy.py", "named", 2, {}, "from package.toy import f"))
    chosen = choose_tests(kernel, facts, {"toy": set()}, budget=9, plain=True)
    assert [test.name for test in chosen] == ["here"]


def test_results_are_kept_and_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert read_results(path) == {}
    for outcome in ("survived", "killed"):
        add_result(path, Result("a", outcome, 1, 0.5))
    assert read_results(path) == {"a": Result("a", "killed", 1, 0.5)}


def test_the_page_has_scores_without_those_that_are_the_same() -> None:
    mutants = find_mutants("x = 1 + 2 + 3\n", "toy.py")
    outcomes = ["killed", "timeout", "survived", "unreached", "killed"]
    done = [(m, Result(m.key, outcome, 1, 1.0)) for m, outcome in zip(mutants, outcomes, strict=True)]
    explanations = {
        mutants[2].key: Explanation("because", True),
        mutants[3].key: Explanation("why not", False),
    }
    page = write_page([Tally("toys", 5, done)], explanations, seed=1)
    assert "| toys | 5 | 5 | 3 | 1 | 1 | 75.0 % | all were run |" in page
    survivors, same = page.split("## Survivors")[1].split("## The same")
    assert mutants[3].key in survivors and mutants[2].key not in survivors
    assert f"{mutants[3].after}`: why not" in survivors
    assert f"{mutants[2].after}`: because" in same


def test_a_score_at_first_sight_forgets_what_was_learnt(tmp_path: Path) -> None:
    mutants = find_mutants("x = 1 + 2 + 3 + 4 + 5 + 6\n", "toy.py")[:10]
    path = tmp_path / "results.jsonl"
    for number, mutant in enumerate(mutants):
        add_result(path, Result(mutant.key, "survived" if number < 2 else "killed", 1, 1.0))
    add_result(path, Result(mutants[0].key, "killed", 1, 1.0))  # there is a test for it now
    missed, results = read_missed(path), read_results(path)
    assert missed == {mutants[0].key, mutants[1].key}
    tally = Tally("toys", 99, [(mutant, results[mutant.key]) for mutant in mutants], missed)
    assert "| toys | 99 | 10 | 9 | 0 | 1 | 90.0 % | 80.0 % (49 to 94 %) |" in write_page([tally], {}, seed=1)
    assert "| toys | 99 | 0 | 0 | 0 | 0 | - | - |" in write_page([Tally("toys", 99, [])], {}, seed=1)


@pytest.mark.parametrize(("killed", "count"), [(0, 5), (5, 5), (8, 10), (97, 100)])
def test_intervals_are_wilsons(killed: int, count: int) -> None:
    expected = binomtest(killed, count).proportion_ci(method="wilson")
    assert find_interval(killed, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_what_noticed_others_of_the_file_is_run_first() -> None:
    facts = [TestFacts("test_toy.py", name, 1, {"toy.py": frozenset([2])}) for name in "abc"]
    chosen = choose_tests(make_mutant(), facts, {"toy": set()}, 9, {"b": 1, "c": 3})
    assert [test.name for test in chosen] == ["c", "b", "a"]


def test_every_explanation_is_of_a_mutant_that_there_is() -> None:
    keys = {
        mutant.key
        for file in TALLYTREE.list_targets()
        for mutant in find_mutants((TALLYTREE.package / file).read_text(encoding="utf-8"), file)
    }
    assert set(read_explanations()) <= keys


TOY = """\
def clamp(value, limit):
    \"\"\"Examples are tests as well.

    >>> clamp(9, 5)
    5
    \"\"\"
    while value > limit:
        value = limit
    return value  # clamped


def forgotten(value):
    return value + 1
"""

TESTS = """\
from toy.clamps import clamp


def test_clamp():
    assert clamp(3, 2) == 2
"""

DRIVER = """\
import argparse
from pathlib import Path
from scripts.mutation.__main__ import run_project
from scripts.mutation.parts import Part, Project

root = Path.cwd()
project = Project(root, root / "src" / "toy", (Part("toys", ("*.py",), ("clamps",)),), grace=2)
options = argparse.Namespace(
    work=root / "work", sample=None, seed=1, part=None, only="", budget=9.0, again=False, page=False,
    quick=False,
)
for tally in run_project(project, options):
    for mutant, result in tally.done:
        print(result.outcome, "|", mutant.after)
"""


@pytest.mark.slow
def test_a_toy_package_from_end_to_end(tmp_path: Path) -> None:
    for name, text in {
        "src/toy/__init__.py": "",
        "src/toy/clamps.py": TOY,
        "tests/test_clamps.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-c", DRIVER]
    path = f"{ROOT}:{ROOT / 'src'}"
    made = [
        subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    outcomes = {after: outcome for outcome, _, after in (line.partition(" | ") for line in made[1]) if after}
    assert outcomes == {
        "while (value >= limit):": "timeout",
        "while (value <= limit):": "killed",
        "return None # clamped": "killed",
        "return None": "unreached",
        "return (value - 1)": "unreached",
        "return value + 2": "unreached",
    }
    # What is known is not run again, and the sources are as they were.
    assert not [line for line in made[1] if line.startswith("toys ")]
    assert (tmp_path / "src/toy/clamps.py").read_text() == TOY
