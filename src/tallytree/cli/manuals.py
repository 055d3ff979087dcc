"""What --help says of each command below its options: examples, exit codes, where to read on.

Every example is run by the tests, as it is written. Lines are at most 76 characters, so that a terminal of 80
columns breaks none of them.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tallytree.progress import hold_signals

CHECKED = "0 no check failed, 1 a check failed, 2 bad input or usage"
DONE = "0 done, 2 bad input or usage"


@dataclass(frozen=True, kw_only=True)
class Manual:
    """The end of a command's help."""

    examples: tuple[tuple[str, str], ...]
    """What is wanted, and the command line for it."""
    exit_codes: str = DONE
    see_also: tuple[str, ...]

    def write(self) -> str:
        """Return the text as it is shown, line by line."""
        examples = [f"  {what}\n{_indent(line)}" for what, line in self.examples]
        return "\n\n".join(
            [
                "Examples",
                *examples,
                f"Exit codes: {self.exit_codes}.",
                f"See also: {', '.join(self.see_also)}.",
            ]
        )


def _indent(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.splitlines())


MANUALS = {
    "demo": Manual(
        examples=(
            ("The nation at epsilon 1, into tallytree-demo.", "tallytree demo"),
            ("At epsilon 0.1, into another folder.", "tallytree demo --epsilon 0.1 --out private"),
        ),
        see_also=("tallytree report", "tallytree verify"),
    ),
    "plan": Manual(
        examples=(
            (
                "The split with the least total error, on an earlier table.",
                "tallytree plan earlier.csv --region state --region county \\\n"
                "    --sizes 1:20 --epsilon 1 --out release.toml",
            ),
            (
                "From public totals alone: at most 500 groups wrong over all counties.",
                "tallytree plan totals.csv --totals --groups households \\\n"
                "    --region state --region county --sizes 1:20 --epsilon 1 \\\n"
                "    --goal 'county<=500' --plot plan.svg",
            ),
            (
                "A page for choosing: a belief of 50 % may rise to 75 % at most, to begin with.",
                "tallytree plan earlier.csv --region state --region county \\\n"
                "    --sizes 1:20 --risk 50:75 --goal 'county<=5%' --page plan.html",
            ),
            (
                "For records of quantities up to 9, which need more noise.",
                "tallytree plan earlier.csv --region state --region county \\\n"
                "    --sizes 1:20 --max-quantity 9 --epsilon 1",
            ),
            (
                "For a register of firms, whose list is not public, in classes.",
                "tallytree plan earlier.csv --region state --region county \\\n"
                "    --classes us-cbp --protect group --total private --epsilon 1",
            ),
        ),
        see_also=("tallytree release --spec", "tallytree mechanisms"),
    ),
    "count": Manual(
        examples=(
            (
                "Households by people, per county.",
                "tallytree count people.parquet --group household \\\n"
                "    --region state --region county --sizes 1:20 --out counts.parquet",
            ),
            (
                "A frame lists the households, so that empty ones count as size 0.",
                "tallytree count people.parquet --group household --person person \\\n"
                "    --region state --region county --frame households.csv \\\n"
                "    --sizes 0:20 --out sensitive-counts.csv",
            ),
        ),
        see_also=("tallytree release", "docs/your-data.md"),
    ),
    "release": Manual(
        examples=(
            (
                "From records of people; whoever has two records counts once.",
                "tallytree release people.parquet --group household --person person \\\n"
                "    --region state --region county --sizes 1:20 \\\n"
                "    --epsilon 1 --out release",
            ),
            (
                "Firms, of which each has a row, by size class; whole firms are protected.",
                "tallytree release register.parquet --group firm --size employees \\\n"
                "    --region state --region county --classes us-cbp --protect group \\\n"
                "    --epsilon 1 --out firms",
            ),
            (
                "From a table state,county,size,groups; most of the budget to counties.",
                "tallytree release counts.csv --region state --region county \\\n"
                "    --root-level nation --budget nation=1,state=2,county=7 \\\n"
                "    --sizes 1:20 --epsilon 0.5 --out release",
            ),
            (
                "As a plan says, charged to a ledger.",
                "tallytree release --spec release.toml --ledger ledger.db",
            ),
            (
                "In a job that may run again: charged once for this month.",
                "tallytree release counts.csv --region state --region county \\\n"
                "    --sizes 1:20 --epsilon 0.5 --ledger ledger.db --dataset census \\\n"
                "    --label 2026-02 --json --out february",
            ),
        ),
        exit_codes="0 done, 1 the result failed its checks and is withheld, 2 bad input or usage, 3 budget "
        "exhausted, 4 ledger unreachable, 5 done already",
        see_also=("tallytree plan", "tallytree ledger", "tallytree mechanisms", "docs/automation.md"),
    ),
    "verify": Manual(
        examples=(
            ("Everything, the post-processing included.", "tallytree verify release"),
            ("For a script: no repeated post-processing, JSON.", "tallytree verify release --quick --json"),
            (
                "And who published it, with their public key.",
                "tallytree verify release-signed --key public.pem",
            ),
        ),
        exit_codes=CHECKED,
        see_also=("tallytree sign", "tallytree ledger verify", "docs/signing.md"),
    ),
    "sign": Manual(
        examples=(
            ("With your private key.", "tallytree sign release --key key.pem"),
            ("For a script.", "tallytree sign release --key key.pem --json"),
        ),
        exit_codes=f"{DONE}, or a release that fails its checks",
        see_also=("tallytree verify", "docs/signing.md"),
    ),
    "keygen": Manual(
        examples=(
            ("A private key, and my.public.pem beside it.", "tallytree keygen my.pem"),
            ("For a script.", "tallytree keygen my.pem --json"),
        ),
        see_also=("tallytree sign", "tallytree ledger sign", "docs/signing.md"),
    ),
    "report": Manual(
        examples=(
            ("Write the report and look at it.", "tallytree report release --open"),
            (
                "With a map of counties, found by the names in two properties.",
                "tallytree report release --shapes counties.geojson \\\n    --shape-key STATE,COUNTY",
            ),
        ),
        exit_codes=f"{CHECKED}; the report is written in any case but the last",
        see_also=("tallytree verify", "docs/report.md"),
    ),
    "intervals": Manual(
        examples=(
            ("For a release that has none.", "tallytree intervals release"),
            (
                "More replicates, and 95 % coverage.",
                "tallytree intervals release --replicates 100 --coverage 0.95",
            ),
            (
                "With what 'tallytree estimate' needs to answer at once, however large it is.",
                "tallytree intervals release --keep-replicates",
            ),
        ),
        exit_codes=f"{DONE}, or a release that fails its checks",
        see_also=("tallytree estimate", "tallytree unbiased", "docs/intervals.md"),
    ),
    "estimate": Manual(
        examples=(
            (
                "Households of three and more in two states.",
                "tallytree estimate release --region all/GA --region all/NY --sizes 3:",
            ),
            (
                "The difference of their mean sizes.",
                "tallytree estimate release --region all/GA --against all/NY \\\n    --statistic size_mean",
            ),
            (
                "The share of one-person households in areas of your own, to paste.",
                "tallytree estimate release --areas areas.csv --sizes 1:1 \\\n    --statistic share --table",
            ),
            (
                "The median of every county, for a script.",
                "tallytree estimate release --each county --statistic median --json",
            ),
            (
                "Counties of one name together, over all states: a margin.",
                "tallytree estimate release --margin county",
            ),
        ),
        see_also=("tallytree intervals --keep-replicates", "docs/estimates.md"),
    ),
    "unbiased": Manual(
        examples=(
            ("As Parquet.", "tallytree unbiased release --out unbiased.parquet"),
            ("As CSV.", "tallytree unbiased release --out unbiased.csv"),
        ),
        see_also=("tallytree intervals", "docs/intervals.md"),
    ),
    "export": Manual(
        examples=(
            (
                "A table for a spreadsheet, with the promise beside it.",
                "tallytree export release --to xlsx --out table.xlsx",
            ),
            (
                "CSV with a row for each region and a column for each size.",
                "tallytree export release --to csv --wide --out counts-wide.csv",
            ),
            (
                "For a data portal: CSV files and their description in one zip file.",
                "tallytree export release --to datapackage --out package.zip",
            ),
            ("For a statistical office: SDMX.", "tallytree export release --to sdmx-csv --out sdmx"),
            (
                "A draft for the public registry of differential privacy.",
                "tallytree export release --to registry --out our_release.yaml",
            ),
        ),
        exit_codes=f"{DONE}, or a release that fails its checks",
        see_also=("tallytree verify", "tallytree sign", "docs/exporting.md"),
    ),
    "compare": Manual(
        examples=(
            ("Two releases: does noise alone explain it?", "tallytree compare release-2020 release-2021"),
            (
                "A release and a published table, states only.",
                "tallytree compare release published.csv --level state --top 3",
            ),
        ),
        exit_codes="0 compared, whatever differs, 2 bad input or usage",
        see_also=("tallytree evaluate", "docs/reading-a-release.md"),
    ),
    "evaluate": Manual(
        examples=(
            (
                "Errors at each level.",
                "tallytree evaluate release --truth counts.csv --data-is-not-sensitive",
            ),
            (
                "For a script.",
                "tallytree evaluate release --truth counts.csv \\\n    --data-is-not-sensitive --json",
            ),
        ),
        see_also=("tallytree plan", "tallytree reproduce"),
    ),
    "mechanisms": Manual(
        examples=(
            ("All of them.", "tallytree mechanisms"),
            ("For a script.", "tallytree mechanisms --json"),
        ),
        see_also=("tallytree plan", "tallytree audit"),
    ),
    "audit": Manual(
        examples=(
            ("The default mechanism.", "tallytree audit cumulative-joint"),
            (
                "The paper's chain as published, which does not keep the epsilon that it claims.",
                "tallytree audit cumulative-chain --option calibration=published",
            ),
        ),
        exit_codes="0 what is stated holds, 1 it does not, 2 bad input or usage",
        see_also=("tallytree mechanisms", "docs/audit.md"),
    ),
    "reproduce": Manual(
        examples=(
            ("A look in minutes, on invented data.", "tallytree reproduce scalability --quick"),
            (
                "The paper's table on public data, three runs of each mechanism.",
                "tallytree reproduce table --data public-tables --instances 3 \\\n    --timeout 60",
            ),
        ),
        see_also=("tallytree audit", "docs/reproduction.md"),
    ),
    "ledger create": Manual(
        examples=(
            ("At most epsilon 3 in all.", "tallytree ledger create ledger.db --dataset census --epsilon 3"),
            (
                "At most epsilon 1 a month, and 12 in all.",
                "tallytree ledger create ledger.db --dataset firms \\\n"
                "    --epsilon 12 --limit 1 --per month",
            ),
            (
                "For releases with Gaussian noise too, which need the extra opendp.",
                "tallytree ledger create ledger.db --dataset taxis \\\n    --epsilon 3 --delta 1e-10",
            ),
        ),
        see_also=("tallytree release --ledger", "docs/ledger.md"),
    ),
    "ledger sign": Manual(
        examples=(
            (
                "A statement, to be kept where nobody can change it.",
                "tallytree ledger sign ledger.db --key key.pem --out 2026-03.json",
            ),
            (
                "For a script.",
                "tallytree ledger sign ledger.db --key key.pem --out new.json --json",
            ),
        ),
        see_also=("tallytree ledger verify --statement", "docs/ledger.md"),
    ),
    "ledger show": Manual(
        examples=(
            ("Budgets and entries.", "tallytree ledger show ledger.db"),
            (
                "A page with charts, by owner and label.",
                "tallytree ledger show ledger.db --page ledger.html",
            ),
            ("For a script.", "tallytree ledger show ledger.db --json"),
        ),
        see_also=("tallytree ledger verify", "docs/ledger.md"),
    ),
    "ledger verify": Manual(
        examples=(
            ("The entries by themselves.", "tallytree ledger verify ledger.db"),
            (
                "And that a release was paid for.",
                "tallytree ledger verify ledger.db --release release",
            ),
            (
                "And that nothing was rewritten since it was signed.",
                "tallytree ledger verify ledger.db --key public.pem \\\n    --statement 2026-02.json",
            ),
        ),
        exit_codes=CHECKED,
        see_also=("tallytree verify", "docs/ledger.md"),
    ),
}


# How a command is added to the command line: its docstring and its manual become the text of --help.


class Command(TyperCommand):
    """A command whose help shows no type beside a flag, which takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, as the help shows them too."""
        return _hide_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose help shows no type beside a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, as the help shows them too."""
        return _hide_types_of_flags(super().get_params(ctx))


def add_command(app: typer.Typer, command: Callable[..., None], *, panel: str | None = None) -> None:
    """Add a function as a command, with the manual of its name, which begins with the name of its group."""
    group = app.info.name if isinstance(app.info.name, str) and app.info.name != "tallytree" else ""
    manual = MANUALS[f"{group} {command.__name__}".strip()]
    text = join_lines(inspect.getdoc(command) or "")
    app.command(cls=Command, help=text, epilog=manual.write(), rich_help_panel=panel)(_load_first(command))


def _load_first(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with the libraries that all have in common loaded before anything can interrupt it.

    They are not loaded for the help. A signal in the middle of loading NumPy or Arrow could crash Python, and
    then nobody is told what was spent: it waits until they are there.
    """

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with hold_signals():
            import_module("tallytree.releases.released")
        command(*arguments, **options)

    return run


def join_lines(text: str) -> str:
    """Put each paragraph on one line, so that it is wrapped to the terminal and not to the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _hide_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
