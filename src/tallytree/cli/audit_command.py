"""``tallytree audit``."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallytree.cli.console import Json, print_json, print_table, print_text, show_progress
from tallytree.cli.options import parse_whole
from tallytree.errors import InputError, show
from tallytree.files import write_whole
from tallytree.sizes import is_decimal_numeral, is_whole_numeral

if TYPE_CHECKING:
    from tallytree.research.auditing.audit_run import Audit, AuditOfAll


def audit(
    mechanism: Annotated[
        str | None, typer.Argument(help="Its name; or say --all.", metavar="MECHANISM")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Audit all mechanisms, and a control.")] = False,
    epsilon: Annotated[str, typer.Option(help="The epsilon to ask for.", metavar="E")] = "2",
    runs: Annotated[
        int | None,
        typer.Option(
            help="Runs of each attack: as many to choose neighbours, as many to estimate epsilon.",
            metavar="N",
            parser=parse_whole,
            show_default="20,000 for the measurements, 5,000 for the whole mechanism; 1,000 if its solver is "
            "slow",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Draw from repeatable bytes: the same seed finds the same.",
            metavar="N",
            parser=parse_whole,
            show_default="the randomness of releases",
        ),
    ] = None,
    protect: Annotated[
        str | None,
        typer.Option(
            help="Only the promise to a person, or to a whole group.",
            metavar="person|group",
            show_default="both",
        ),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(
            help="Only the promise with a public, or with a private number of groups.",
            metavar="public|private",
            show_default="each that the mechanism offers",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="An option of the mechanism; may be repeated.", metavar="NAME=VALUE"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the results of --all (Markdown).", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that a mechanism keeps the epsilon that it states.

    On invented counts: first, all neighbours on small hierarchies are tried, which gives the exact worst
    privacy loss there. Then the whole mechanism is attacked as a black box, with the noise of releases,
    adding a person or a group, or changing a group, in every region and at all sizes: many runs give a lower
    bound on epsilon. Neither result may exceed the epsilon that is stated or asked for. Every promise that
    the mechanism offers is tried: to persons and to whole groups, with a public and with a private total.
    """
    if every == (mechanism is not None):
        raise InputError("Name one mechanism to audit, or say --all.")
    settings = {"epsilon": epsilon, "runs": runs, "seed": seed, "protect": protect, "total": total}
    if every:
        if option:
            raise InputError("--option goes with one mechanism, not with --all.")
        passed = _audit_all(settings, out, as_json)
    else:
        if out is not None:
            raise InputError("--out goes with --all: it writes the page of all mechanisms.")
        passed = _audit_one(str(mechanism), option or [], settings, as_json)
    if not passed:
        raise typer.Exit(1)


def _audit_one(name: str, options: list[str], settings: dict[str, Any], as_json: bool) -> bool:
    from tallytree.mechanisms.registry import mechanism
    from tallytree.research.auditing.audit_run import audit as examine
    from tallytree.research.auditing.exact_losses import Verdict

    method = mechanism(name, **_read_options(name, options))
    with show_progress(quiet=as_json) as progress:
        found = examine(method, **settings, progress=progress)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_audit(found)
    return found.verdict == Verdict.HOLDS


def _audit_all(settings: dict[str, Any], out: Path | None, as_json: bool) -> bool:
    from tallytree.research.auditing.audit_page import write_page
    from tallytree.research.auditing.audit_run import audit_all

    with show_progress(quiet=as_json) as progress:
        found = audit_all(**settings, progress=progress)
    if out is not None:
        write_whole(out, write_page(found).encode())
    if as_json:
        print_json(found.to_dict())
    else:
        _print_all(found)
        if out is not None:
            print_text(f"Written: {out}")
    return found.is_passed


def _read_options(name: str, given: list[str]) -> dict[str, Any]:
    """Options as their mechanism has them: text, a number, or true and false."""
    from tallytree.mechanisms.registry import mechanism

    usual = {field.name: field.default for field in fields(mechanism(name))}
    options: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"The option {show(text)} is not written as NAME=VALUE.")
        if key in options:
            raise InputError(f"The option {show(key)} is given twice.")
        options[key] = _read_value(key, value, usual.get(key))
    return options


def _read_value(key: str, value: str, usual: object) -> object:
    if isinstance(usual, bool):
        if value not in ("true", "false"):
            raise InputError(f"The option {show(key)} is true or false, not {show(value)}.")
        return value == "true"
    if isinstance(usual, (int, float)):
        is_plain = is_whole_numeral if isinstance(usual, int) else is_decimal_numeral
        if not is_plain(value):
            raise InputError(f"The option {show(key)} must be a number: {show(value)} is not a number.")
        return type(usual)(value)
    return value


def _print_audit(found: Audit) -> None:
    from tallytree.research.auditing.audit_page import CASE, conclude, write_case, write_number, write_promise

    print_text(f"{found.mechanism}, asked for epsilon {write_number(found.asked)}.")
    for promise in found.promises:
        part = found.under(promise)
        print_table(
            f"For {write_promise(promise)}: all neighbours tried",
            CASE,
            [write_case(each) for each in part.enumerations],
            left=5,
        )
        print_table(
            f"For {write_promise(promise)}: how often an event happened, on one neighbour and on the other",
            ["seen", "group moved", "event", "hits", "runs", "epsilon at least", "stated"],
            [
                [
                    each.seen,
                    each.moved,
                    each.evidence.event,
                    f"{each.evidence.hits:,} : {each.evidence.other_hits:,}",
                    f"{each.evidence.runs:,}",
                    f"{each.evidence.bound:.3f}",
                    write_number(each.stated),
                ]
                for each in part.attacks
            ],
            left=3,
        )
    print_text(conclude(found))


def _print_all(found: AuditOfAll) -> None:
    from tallytree.research.auditing.audit_page import conclude, summarize, write_number
    from tallytree.research.auditing.exact_losses import Verdict

    rows = []
    for name, protect, total, _, *cells, verdict in chain.from_iterable(map(summarize, found.audits)):
        words = verdict if verdict == str(Verdict.HOLDS) else verdict.upper()
        rows.append([name, protect, total, *cells, words])
    asked = write_number(found.controls[0].asked)
    columns = ["mechanism", "protected", "total", "stated", "exact loss", "measurements", "counts", "verdict"]
    title = f"Asked for epsilon {asked}: exact worst loss, and what attacks showed"
    print_table(title, columns, rows, left=3)
    for name, reason in found.skipped.items():
        print_text(f"Skipped: {name}. {reason}")
    for audit in found.audits:
        if audit.verdict != Verdict.HOLDS:
            print_text(conclude(audit))
    for audit in found.controls:
        print_text(f"Control, which must be caught: {conclude(audit)}")
        if not audit.is_caught_by_both:
            print_text(
                "The control was NOT caught by both parts, so this audit shows little: take more runs."
            )
    if found.is_passed:
        print_text("No mechanism exceeded its stated epsilon in any test; the control was caught.")
