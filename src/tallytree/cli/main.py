"""The ``tallytree`` command: its sub-commands, and what happens when something goes wrong."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, NoReturn

import typer

from tallytree import __version__
from tallytree.cli.audit_command import audit
from tallytree.cli.compare_command import compare
from tallytree.cli.console import flush_output, print_error, print_json, print_remedies, print_text
from tallytree.cli.count_command import count
from tallytree.cli.demo_command import demo
from tallytree.cli.estimate_command import estimate
from tallytree.cli.evaluate_command import evaluate
from tallytree.cli.export_command import export
from tallytree.cli.failures import BUG, INTERRUPTED, MEMORY, OUTPUT, USAGE, Kind, describe_failure, find_kind
from tallytree.cli.intervals_command import intervals, unbiased
from tallytree.cli.ledger_command import app as ledger
from tallytree.cli.manuals import Group, add_command, join_lines
from tallytree.cli.mechanisms_command import mechanisms
from tallytree.cli.plan_command import plan
from tallytree.cli.release_command import release
from tallytree.cli.report_command import report
from tallytree.cli.reproduce_command import reproduce
from tallytree.cli.sign_command import keygen, sign
from tallytree.cli.verify_command import verify
from tallytree.errors import CheckError, InputError, RecordsError, describe
from tallytree.ledger.receipts import Outcome, find_outcome
from tallytree.progress import expect_holds

BROKEN_PIPE = 141

STOPPED = "Interrupted; nothing half-written was left behind."

DESCRIPTION = """\
Release how many groups of each size there are in each region, under differential privacy.

Firms by employees, accounts by transactions, households by people: the counts that come out are private,
whole and not negative, add up across the hierarchy, and have intervals. Begin with 'tallytree demo'.
"""
EPILOG = """\
Each command has examples: 'tallytree release --help'. Those that a program would call have --json.

'tallytree --install-completion' completes commands and options with Tab, in bash, zsh, fish and PowerShell.

Exit codes: 0 done, 1 a check failed, 2 bad input or usage, 3 the budget does not allow it, 4 the ledger
cannot be reached now, 5 done already, 70 a bug, 130 or 143 interrupted.
TALLYTREE_DEBUG=1 shows the details of a bug, which may include data.
"""
MAKING, LOOKING, STUDYING = "Make a release", "Look at a release", "Study the mechanisms"
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    MAKING: (demo, plan, count, release, sign, keygen),
    LOOKING: (verify, report, estimate, intervals, unbiased, export, compare, evaluate),
    STUDYING: (mechanisms, audit, reproduce),
}

app = typer.Typer(
    name="tallytree",
    cls=Group,
    help=join_lines(DESCRIPTION),
    epilog=join_lines(EPILOG),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for command in commands:
        add_command(app, command, panel=panel)
app.add_typer(ledger, rich_help_panel=MAKING)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_text(f"tallytree {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What can be said before a command."""


def main() -> NoReturn:
    """Run the command line; every problem is one message on standard error and an exit code."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as it is for what runs in the background
            signal.signal(number, _stop)
    try:
        with expect_holds():
            _run_and_report()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_and_report() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name must not break what shows it
    try:
        code = _run()
        flush_output()
        if code == INTERRUPTED.exit_code:  # Typer makes a code of a KeyboardInterrupt
            _fail(INTERRUPTED, STOPPED, outcome=Outcome("", charged=None))  # what it noted is lost
        sys.exit(code)
    except typer.TyperException as error:
        _fail(USAGE, error.format_message(), error)
    except (InputError, CheckError) as error:
        _fail(find_kind(error), str(error), error)
    except _Stop as stop:
        _fail(replace(INTERRUPTED, exit_code=stop.exit_code), STOPPED, stop)
    except (typer.Abort, KeyboardInterrupt) as error:
        _fail(INTERRUPTED, STOPPED, error)
    except MemoryError as error:
        _fail(MEMORY, "There is not enough memory for this.", error)
    except BrokenPipeError:
        _drop_output()
        sys.exit(BROKEN_PIPE)
    except OSError as error:
        _drop_output()
        _fail(OUTPUT, f"The output could not be printed: {describe(error)}.", error)
    except Exception as error:
        if os.environ.get("TALLYTREE_DEBUG"):
            raise
        # No traceback and no message of the exception: either may show the data.
        _fail(
            BUG,
            f"Something went wrong inside tallytree ({type(error).__name__}). Please report it; with "
            "TALLYTREE_DEBUG=1 the details are shown, which may include data.",
            error,
        )


def _run() -> int:
    """The exit code of the command."""
    try:
        return int(app(prog_name="tallytree", standalone_mode=False) or 0)
    except SystemExit as stop:
        # A check that failed is returned above. Rich and Typer exit with 1 by themselves when the
        # reader of a pipe has gone, as `head` does.
        if stop.code == 1:
            raise BrokenPipeError from None
        raise


def _drop_output() -> None:
    """Discard what is left to be printed, both now and when Python closes standard output."""
    with suppress(OSError):  # if that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Stop(SystemExit):
    """A signal to stop. Typer lets it pass, and with it what is said about a ledger."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__(self.exit_code)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Leave through the ordinary way out, so that what was begun is cleaned up."""
    raise _Stop(number)


def _find_command(error: BaseException | None) -> str:
    """Return the command whose use was wrong, as far as it is known."""
    context = getattr(error, "ctx", None)
    return "tallytree" if context is None else str(context.command_path)


def _fail(
    kind: Kind, message: str, error: BaseException | None = None, *, outcome: Outcome | None = None
) -> NoReturn:
    """Say what is wrong, and what that has cost if a ledger was charged; with --json for programs too."""
    outcome = find_outcome(error) if outcome is None else outcome
    if outcome:
        message = f"{message} {outcome}"
    if message:  # there is none where the help was shown instead
        with suppress(OSError):  # nobody reads it, and the exit code says most of it
            print_error(f"Error: {message}")
            if kind is USAGE:
                print_error(f"Try '{_find_command(error)} --help'.")
            if isinstance(error, RecordsError):
                print_remedies(error.remedies)
        if "--json" in sys.argv[1:]:
            with suppress(OSError, ValueError):  # likewise
                print_json(describe_failure(kind, message, outcome, error))
                sys.stdout.flush()
    sys.exit(kind.exit_code)
