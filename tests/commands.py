"""Command lines run by tests: their words, and how they end."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

ROOT = Path(__file__).parents[1]


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
"""The fixture ``run``: called with the words of a command line."""


def make_words(command: str, options: Mapping[str, str], *more: str, without: str = "") -> list[str]:
    """The words of a command with these options, of which ``source`` is its argument."""
    given = {name.replace("_", "-"): value for name, value in options.items() if name != without}
    source = [given.pop("source")] if "source" in given else []
    return [command, *source, *(word for pair in given.items() for word in (f"--{pair[0]}", pair[1])), *more]


def run_script(code: str, columns: str | None = None) -> Outcome:
    """Run a script of the shell, and stop at the first command that fails.

    Commands of ours that need nothing of the shell run in this process: a new one loads for seconds what is
    loaded here already. Spark is started in a process of its own, as users do it.
    """
    sized = {} if columns is None else {"COLUMNS": columns}
    lines = [line for line in code.replace("\\\n", " ").splitlines() if line.strip()]
    if all(_is_plain(line) for line in lines):
        out = err = ""
        with patch.dict(os.environ, sized):
            for line in lines:
                ended = _run_here(shlex.split(line, comments=True))
                out, err = out + ended.out, err + ended.err
                if ended.code:
                    return Outcome(ended.code, out, err)
        return Outcome(0, out, err)
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", code],
        env={**os.environ, "PATH": here, **sized},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def _is_plain(line: str) -> bool:
    """Whether a line is a command of ours alone, in which the shell would replace or redirect nothing."""
    bare = re.sub(r"""'[^']*'|"[^"$`\\]*"|(?<=\s)#.*""", "", line)
    return line.startswith("tallytree ") and not re.search(r"[][|&;<>(){}$`*?~!'\"\\]|--engine", bare)


def _run_here(words: Sequence[str]) -> Outcome:
    from tallytree.cli.main import main

    said = BytesIO(), BytesIO()
    out, err = (TextIOWrapper(one, encoding="utf-8", write_through=True) for one in said)
    code: object = None
    with patch.object(sys, "argv", list(words)), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int)
    return Outcome(code, *(one.getvalue().decode() for one in said))


def run_workers(module: str, *words: str, inside: Sequence[str] = ()) -> Any:
    """Run a module of workers as a program, inside another one if it is given; what they found out."""
    done = subprocess.run(
        [*inside, sys.executable, "-m", module, *words],
        cwd=ROOT,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
