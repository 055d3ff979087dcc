"""The reference of the command line, as Markdown, from the commands themselves."""

from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import typer

from tallytree.cli.main import app


def write_command_reference() -> str:
    """A section for each command: what its help says."""
    root = typer.main.get_command(app)
    return "\n".join(_describe(root, "tallytree"))


def _describe(command: Any, name: str) -> Iterator[str]:
    if name != "tallytree":
        yield f"\n## `{name}`\n"
    context = typer.Context(command, info_name=name)
    yield f"```text\n{context.get_usage().removeprefix('Usage: ')}\n```\n"
    yield from _write_help(command.help)
    rows = [parameter.get_help_record(context) for parameter in command.params if not _is_hidden(parameter)]
    if rows:
        yield "\n| option | what |\n| --- | --- |"
    for option, what in rows:
        option = option if option.startswith("-") else option.partition(" ")[0]
        yield f"| `{_escape(option)}` | {_escape(what)} |"
    yield from _write_help(command.epilog or "")
    for inner in getattr(command, "commands", {}).values():
        yield from _describe(inner, f"{name} {inner.name}")


def _is_hidden(parameter: Any) -> bool:
    return parameter.get_help_record is None or getattr(parameter, "hidden", False)


def _write_help(text: str) -> Iterator[str]:
    """The help's paragraphs; what is indented is an example."""
    for paragraph in dedent(text).strip().split("\n\n"):
        if paragraph.startswith("  "):
            yield f"\n```text\n{dedent(paragraph).rstrip()}\n```\n"
        else:
            yield f"\n{paragraph}\n"


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<str>", "TEXT").replace("<list[str]>", "TEXT")
