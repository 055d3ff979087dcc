"""How a command is added to the command line: its docstring and its manual become the text of --help."""

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tallytree.cli.manuals import MANUALS
from tallytree.signals import hold_signals


class Command(TyperCommand):
    """A command whose help shows no type beside a flag, which takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them too."""
        return _hide_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """The same for the options of a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them too."""
        return _hide_types_of_flags(super().get_params(ctx))


def add_command(app: typer.Typer, command: Callable[..., None], *, panel: str | None = None) -> None:
    """Add a function as the command of its name, or of its group's and its name."""
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
            import_module("tallytree.releases")
        command(*arguments, **options)

    return run


def join_lines(text: str) -> str:
    """Each paragraph on one line, so that it is wrapped to the terminal and not to the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _hide_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
