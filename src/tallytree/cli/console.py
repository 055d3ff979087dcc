"""What people see: tables on standard output, progress and errors on standard error.

Everything that a command prints passes through here. Names come from files and from whoever wrote them: none
may reach the terminal as an escape sequence, as a line of its own, or as markup.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.errors import Remedy
from tallytree.privacy.budget import show_exact
from tallytree.progress import Progress, no_progress

if TYPE_CHECKING:
    from tallytree.counts.group_counts import GroupCounts
    from tallytree.publishing.publisher import Published, Release
    from tallytree.releases.usefulness import LevelUsefulness
    from tallytree.research.reproduction.measuring import Tell
    from tallytree.solvers.checks import Verification
    from tallytree.words import Words

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

WIDE_GAP = 1e-3
"""A duality gap that people should know of; solvers aim at far less."""

TELL_SECONDS = 10.0
"""Seconds between two lines about the progress of long work, where there is no terminal."""

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls, of which ESC and CSI begin commands to the terminal
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of what follows
    "\u2028\u2029\ufff9-\ufffb\U000e0000-\U000e007f]"  # other line ends, and what nobody sees
)


def make_safe(text: str) -> str:
    r"""Return ``text`` on one line, with an escape for each character that a terminal would obey.

    >>> print(make_safe("\x1b[31mred\n"))
    \x1b[31mred\n
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def print_left_out(counts: GroupCounts) -> None:
    """Print what of the records was not counted on standard error: no file of a release tells it."""
    if counts.left_out:
        print_error(f"Not counted (for your eyes only: it depends on the data): {counts.left_out}")


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, with a decimal beside every exact number."""
    lines = json.dumps(add_decimals(value), indent=2, ensure_ascii=False).split(
        "\n"
    )  # inside strings there are none
    typer.echo("\n".join(_UNSAFE.sub(_escape_for_json, line) for line in lines))


EXACT = {
    "epsilon",
    "delta",
    "rho",
    "total",
    "spent",
    "remaining",
    "limit",
    "charged",
    "amount",
    "sensitivity",
    "scale",
}
"""The names of exact numbers in what commands print."""

_FRACTION = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")


def add_decimals(value: Any) -> Any:
    """Return a JSON value with ``epsilon_decimal``, rounded to a float, beside an exact ``epsilon``.

    >>> add_decimals({"epsilon": "1/4"})
    {'epsilon': '1/4', 'epsilon_decimal': 0.25}
    """
    if isinstance(value, list):
        return [add_decimals(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        found[name] = add_decimals(item)
        if name in EXACT and isinstance(item, str) and _FRACTION.fullmatch(item):
            with suppress(OverflowError):
                found[f"{name}_decimal"] = float(Fraction(item))
    return found


def _escape_for_json(found: re.Match[str]) -> str:
    r"""The same character as an escape of JSON: ``\u009b``."""
    code = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def print_error(text: str) -> None:
    """Print one line on standard error."""
    typer.echo(make_safe(text), err=True)


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Show a progress bar on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:

        def begin(what: str, steps: int) -> Callable[[int], None]:
            task = bar.add_task(make_safe(what), total=steps or None)  # none: nobody knows how many
            if not steps:
                return lambda done: bar.update(task, total=1, completed=1)
            return lambda done: bar.advance(task, done)

        yield begin


@contextmanager
def show_jobs(*, quiet: bool) -> Iterator[Tell]:
    """Show a bar on a terminal, and elsewhere a line now and then, for work that may take hours."""
    if quiet:
        yield lambda text, done, total: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("Reading the data", total=None)
            yield lambda text, done, total: bar.update(
                task, description=make_safe(text), completed=done, total=total
            )
    else:
        due = 0.0

        def tell(text: str, done: int, total: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                print_error(text)
                due = time.monotonic() + TELL_SECONDS

        yield tell


def print_next_step(folder: object) -> None:
    """Print where the release is and how to check it, as a command that is started like this one."""
    print_text(f"Written to {folder}. Check it with:")
    print_command(write_command(["verify", str(folder)]))


def write_command(words: Sequence[str]) -> str:
    """Return a command for people to copy, which is started like this one and shows no password."""
    started = Path(sys.argv[0])
    start = [sys.executable, "-m", "tallytree"] if started.name == "__main__.py" else [str(started)]
    return shlex.join([*start, *(_PASSWORD.sub(r"\g<user>\g<name>...", word) for word in words)])


_PASSWORD = re.compile(r"(?P<user>://[^:/@]*:)[^/]*(?=@)|(?P<name>(?:password|pwd)=)[^&]*")


def print_remedies(remedies: Sequence[Remedy]) -> None:
    """Print the user's own command with the settings that an error proposes, on standard error."""
    words = list(sys.argv[1:])
    for remedy in remedies:
        if remedy.replaces:
            place = _find_flag(words, remedy.replaces)
            if place is None:  # it is in a file of settings, where no flag takes it away
                continue
            del words[place : place + (1 if "=" in words[place] else 2)]
        flag = _name_flag(remedy.setting)
        given = {*pairwise(words), *(tuple(word.split("=", 1)) for word in words)}
        for value in remedy.values:
            if (flag, value) not in given:
                words += [flag, value]
    if words != sys.argv[1:]:
        print_error(f"Try: {write_command(words)}")


def _name_flag(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _find_flag(words: Sequence[str], setting: str) -> int | None:
    flag = _name_flag(setting)
    return next((at for at, word in enumerate(words) if word.split("=", 1)[0] == flag), None)


def print_table(title: str, columns: list[str], rows: list[list[str]], *, left: int = 1) -> None:
    """Print a table; the first ``left`` columns are text, aligned left, the rest numbers, aligned right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def write(text: str) -> Text:
        return Text(make_safe(text))  # Text: names in brackets are not markup, and :heart: is no picture

    table = Table(title=write(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        # Folded where there is no room: a number with its end cut off is another number.
        table.add_column(write(column), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(write, row))
    Console().print(table)


def print_plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a tab between cells, which documents and spreadsheets take as a table."""
    for row in (columns, *rows):
        typer.echo("\t".join(map(make_safe, row)))


def print_text(text: str, *, end: str = "\n", indent: int = 0) -> None:
    """Print a paragraph, wrapped to the terminal; a line end in it, as in a name, begins no new line."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    said = Text(make_safe(text))
    Console(highlight=False).print(
        Padding(said, (0, 0, 0, indent), expand=False) if indent else said, end=end
    )


def print_command(command: str) -> None:
    """Print a command to copy, on one line: one that is broken where the terminal ends would not run."""
    typer.echo(f"    {make_safe(command)}")


def print_warning(text: str) -> None:
    """Print a paragraph that must not be overlooked on standard error; nothing if it is empty."""
    if text:
        from rich.console import Console

        Console(stderr=True, highlight=False).print(text, markup=False, style="bold red")


BAR = 30


def print_bars(title: str, rows: Sequence[tuple[str, float, str]]) -> None:
    """Print a bar for each row: its name, its share from 0 to 1, and what stands behind the bar."""
    can_draw = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    full, empty = ("█", "░") if can_draw else ("#", ".")
    width = max(len(name) for name, _, _ in rows)
    print_text(title)
    for name, share, note in rows:
        filled = min(BAR, max(round(share * BAR), int(share > 0)))  # a little is not nothing
        print_text(f"  {name:<{width}}  {full * filled}{empty * (BAR - filled)}  {note}")
    print_text("")


def print_checks(verification: Verification) -> None:
    """Print the outcome of each check."""
    print_table(
        "Checks",
        ["", "check", "what", "violations"],
        [
            [
                "FAILED" if check.failed else "ok" if check.made else "not made",
                check.name,
                check.statement + (f" (for example: {check.example})" if check.example else ""),
                f"{check.violations:,}" if check.made else "",
            ]
            for check in verification.checks
        ],
        left=3,
    )


def publish_and_tell(
    make: Callable[[Progress], tuple[Release, Verification]],
    folder: str | Path,
    *,
    replace: bool = False,
    replicates: int | None,
    keep_replicates: bool | None = None,
    quiet: bool,
) -> Published:
    """Make a release and write its folder; say what is missing in it, also after an interruption."""
    from tallytree.publishing.publisher import Later, publish

    try:
        with show_progress(quiet=quiet) as progress:
            done = publish(
                lambda: make(progress),
                folder,
                replace=replace,
                replicates=replicates,
                keep_replicates=keep_replicates,
                progress=progress,
            )
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, Later):
                print_error(note)
        raise
    for problem in done.problems:
        print_error(problem)
    if done.note and not quiet:
        print_text(done.note)
    return done


def print_release(release: Release, verification: Verification) -> None:
    """Print what was protected and how, and what was released."""
    from tallytree.arrays import get_total

    plan = release.measurements.plan
    print_text(release.manifest["privacy"]["statement"])
    print_table(
        "Budget and noise",
        ["level", "query", "regions", "sensitivity", plan.unit.name, "scale", release.words.say("groups")],
        [
            [
                level.name,
                level.query,
                f"{plan.shape(index)[0]:,}",
                str(level.sensitivity),
                show_exact(level.loss),
                show_exact(level.scale),
                f"{get_total(release.counts, index):,}",
            ]
            for index, level in enumerate(plan.levels)
        ],
        left=2,
    )
    for note in release.manifest["privacy"]["assumed"]:
        print_text(f"Note: {note}")
    accuracy = release.manifest["solution"]["accuracy"]
    if accuracy is not None and accuracy["gap"] > WIDE_GAP:
        print_text(
            "Note: The solver stopped before it converged: the objective may be up to "
            f"{accuracy['gap']:.1%} above the minimum. The counts are private and add up all the same. "
            "A more even budget split converges faster."
        )
    print_checks(verification)


def summarize(release: Release, verification: Verification, folder: str) -> dict[str, Any]:
    """Return a few facts about a release, for programs."""
    privacy = release.manifest["privacy"]
    return {
        "folder": folder,
        **{name: privacy[name] for name in ("epsilon", "delta", "rho") if name in privacy},
        "mechanism": release.manifest["mechanism"]["name"],
        "total": release.total,
        "verification": verification.to_dict(),
    }


def describe_intervals(release: Release) -> dict[str, object]:
    """Return what was made, for JSON."""
    found = release.intervals
    if found is None:
        return {"intervals": None}
    widths = [float((cells.high - cells.low).mean()) for cells in found.cells]
    return {
        "intervals": {
            **found.to_dict(),
            "mean_width": dict(zip(release.hierarchy.levels, widths, strict=True)),
            "usefulness": [level.to_dict() for level in release.usefulness],
        }
    }


def print_intervals(release: Release) -> None:
    """Print how wide the intervals are, level by level."""
    import numpy as np

    found = release.intervals
    if found is None:
        return
    rows = []
    for level, cells in enumerate(found.cells):
        counts = release.counts[level]
        half = (cells.high - cells.low)[counts > 0] / 2
        open_zeros = int(((counts == 0) & (cells.high > 0)).sum())
        rows.append(
            [
                release.hierarchy.levels[level],
                f"± {np.median(half):,.1f}" if len(half) else "",
                f"± {half.max():,.1f}" if len(half) else "",
                f"{open_zeros:,}",
            ]
        )
    print_table(
        f"{float(100 * found.coverage):g} % intervals of the counts, from {found.replicates} replicates",
        ["level", "median half-width", "widest", "zeros within noise"],
        rows,
    )


def print_usefulness(levels: Sequence[LevelUsefulness], words: Words) -> None:
    """Print how useful the numbers of each level are, after post-processing."""
    for level in levels:
        print_text(f"{level.level}: {words.say(level.describe())}")


def print_opening(folder: Path) -> None:
    """Print where the report of a folder is, and how to open it."""
    from tallytree.releases.released import REPORT

    target = folder / REPORT
    if not target.exists():
        return
    opener = {"darwin": "open", "win32": "start"}.get(sys.platform, "xdg-open")
    print_text(f"The report is {target}. It opens in any browser: double-click it, or run")
    print_command(f"{opener} {shlex.quote(str(target))}")
