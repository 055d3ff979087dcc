"""The reference of the Python names, as Markdown, from signatures and docstrings."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from textwrap import dedent
from typing import Any

import tallytree

WIDTH = 88


def write_api_reference() -> str:
    """A section for each public name."""
    names = sorted(name for name in tallytree.__all__ if name != "__version__")
    classes = [name for name in names if inspect.isclass(getattr(tallytree, name))]
    parts = ["## Functions\n"]
    for name in names:
        if name not in classes:
            parts += [f"### `{name}`\n", *_describe(getattr(tallytree, name), name)]
    parts.append("## Classes\n")
    for name in classes:
        parts += _describe_class(getattr(tallytree, name), name)
    return "\n".join(parts)


def _describe_class(kind: type, name: str) -> Iterator[str]:
    yield f"### `{name}`\n"
    if not inspect.isabstract(kind):
        yield from _describe(kind, name)
    else:
        yield _convert(inspect.getdoc(kind) or "")
    for field, (annotation, text) in _find_fields(kind).items():
        yield f"#### `{name}.{field}`\n\n```py\n{field}: {annotation}\n```\n"
        yield _convert(text)
    for member in _list_members(kind):
        value = inspect.getattr_static(kind, member)
        yield f"#### `{name}.{member}`\n"
        if isinstance(value, (staticmethod, classmethod)):
            yield from _describe(value.__func__, member, bound=True)
        elif inspect.isfunction(value):
            yield from _describe(value, member, bound=True)
        else:
            yield _convert(inspect.getdoc(value) or "")


def _list_members(kind: type) -> list[str]:
    """Public methods and properties of a class and what it inherits from, in the order of the source."""
    found: dict[str, None] = {}
    for each in kind.__mro__:
        if each.__module__.startswith("tallytree"):
            found |= {
                name: None
                for name, value in vars(each).items()
                if not name.startswith("_")
                and (callable(value) or hasattr(value, "__get__"))
                and (inspect.getdoc(value) or "") != (inspect.getdoc(type(value)) or "")
            }
    return list(found)


def _find_fields(kind: type) -> dict[str, tuple[str, str]]:
    """The fields of a dataclass and class variables that have a text of their own: type and text."""
    found: dict[str, tuple[str, str]] = {}
    for each in reversed(kind.__mro__):
        if not each.__module__.startswith("tallytree") or not is_dataclass(kind):
            continue
        (tree,) = ast.parse(dedent(inspect.getsource(each))).body
        assert isinstance(tree, ast.ClassDef)
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                text = _get_text(after)
                kept = ast.unparse(node.annotation)
                if not node.target.id.startswith("_") and "InitVar" not in kept:
                    found[node.target.id] = kept, text
    return found


def _get_text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return inspect.cleandoc(str(node.value.value))
    return ""


def _describe(function: Callable[..., Any], name: str, *, bound: bool = False) -> Iterator[str]:
    yield f"```py\n{_write_signature(function, name, bound=bound)}\n```\n"
    yield _convert(inspect.getdoc(function) or "")


def _write_signature(function: Callable[..., Any], name: str, *, bound: bool) -> str:
    signature = inspect.signature(function)
    parts: list[str] = []
    starred = False
    for place, parameter in enumerate(signature.parameters.values()):
        if (bound and place == 0) or parameter.name == "made_by":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        stars = "*" * (
            (parameter.kind is parameter.VAR_POSITIONAL) + 2 * (parameter.kind is parameter.VAR_KEYWORD)
        )
        starred |= stars == "*"
        parts.append(stars + _write_parameter(parameter))
    result = signature.return_annotation
    end = "" if result is signature.empty or inspect.isclass(function) else f" -> {_name(result)}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])


def _write_parameter(parameter: inspect.Parameter) -> str:
    text = parameter.name
    if parameter.annotation is not parameter.empty:
        text += f": {_name(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        default = getattr(parameter.default, "__name__", None) or repr(parameter.default)
        text += f" = {default}"
    return text


def _name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _convert(text: str) -> str:
    """A docstring as Markdown: names as code, examples in a block of their own."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    parts = []
    for paragraph in text.split("\n\n"):
        parts.append(f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>> ") else paragraph)
    return "\n\n".join(parts) + "\n"
