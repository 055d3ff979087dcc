"""The examples of Markdown pages: found, run in order, compared with the output that stands below them.

``python -m tests.project.documents docs/PAGE.md ...`` runs them, and writes what they print into the page.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.commands import run_script

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN = {"python", "sh"}
SHOWN = {"text", "toml", "json", "math", "sql", "py", "pycon", "r", ""}
"""What is shown and not run here: output (straight below the example that prints it), a file, a formula, a
signature, the example of a docstring, which runs with its module, and R, which ``test_docs.py`` runs."""

MORE = "..."
"""A line of an output in place of others, which differ each time."""

SOME_PEOPLE = ("start-here.md", "Some people")
BEFORE = {"automation.md": SOME_PEOPLE, "choosing-epsilon.md": SOME_PEOPLE, "estimates.md": SOME_PEOPLE}
"""Pages that go on from a section of another one."""

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One block of code, and the output that the page says it has."""

    page: Path
    section: str
    language: str
    code: str
    output: str | None

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.page.name}, {self.section}"


def find_examples(page: Path) -> list[Example]:
    """All examples of a page that are to be run, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Example] = []
    blocks = list(_FENCE.finditer(text))
    for block, after in zip_longest(blocks, blocks[1:]):
        if block[1] not in RUN:
            continue
        titles = re.findall(r"^## (.+)$", text[: block.start()], re.MULTILINE)
        follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
        output = after[2] if after is not None and follows else None
        found.append(Example(page, titles[-1] if titles else "", block[1], block[2], output))
    return found


def find_examples_before(page: Path) -> list[Example]:
    """Those of another page that this one goes on from."""
    other, section = BEFORE.get(page.name, (page.name, None))
    return [example for example in find_examples(page.with_name(other)) if example.section == section]


def find_languages(page: Path) -> set[str]:
    """The languages of all blocks of a page."""
    return {block[1] for block in _FENCE.finditer(page.read_text(encoding="utf-8"))}


def run_examples(
    examples: Iterable[Example], replace: Callable[[str], str] = lambda code: code, **before: Any
) -> dict[str, Any]:
    """Run examples one after the other, here; what Python leaves behind, and what there was before."""
    names: dict[str, Any] = dict(before)
    for example in examples:
        printed = run_example(example, replace(example.code), names)
        if example.output is not None:
            found, wanted = _strip(printed), _strip(example.output)
            if MORE in wanted:
                first, last = wanted.index(MORE), len(wanted) - wanted.index(MORE) - 1
                found = [*found[:first], MORE, *found[len(found) - last :]]
            assert found == wanted, f"{example.place} prints:\n{printed}"
    return names


def run_example(example: Example, code: str, names: dict[str, Any]) -> str:
    """What it prints."""
    if example.language == "python":
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, example.place, "exec"), names)
        return printed.getvalue()
    done = run_script(code, columns="100")
    assert done.code == 0, f"{example.place}: {done.err}"
    return done.out


def write_outputs(page: Path) -> None:
    """Run the examples in an empty folder; what they print takes the place of the output on the page."""
    text = page.read_text(encoding="utf-8")
    examples = find_examples(page)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        run_examples(find_examples_before(page))
        names: dict[str, Any] = {}
        for example in examples:
            printed = "\n".join(_strip(run_example(example, example.code, names)))
            if example.output is not None:
                block = f"```{example.language}\n{example.code}```\n\n```text\n"
                text = text.replace(f"{block}{example.output}```", f"{block}{printed}\n```")
    page.write_text(text, encoding="utf-8")


def _strip(output: str) -> list[str]:
    """Tables are padded with spaces, which an editor takes away."""
    return [line.rstrip() for line in output.strip().splitlines()]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name).resolve())
