"""The reference of the Python names, as Markdown: what Sphinx is to take from which docstring."""

import inspect
from collections.abc import Iterator

import tallytree


def write_api_reference() -> str:
    """A section for each public name."""
    names = [name for name in tallytree.__all__ if name != "__version__"]
    functions = sorted(name for name in names if not inspect.isclass(getattr(tallytree, name)))
    classes = sorted(name for name in names if inspect.isclass(getattr(tallytree, name)))
    return "\n".join([*_describe("Functions", functions), *_describe("Classes", classes)])


def _describe(title: str, names: list[str]) -> Iterator[str]:
    yield f"\n## {title}\n"
    for name in names:
        yield f"### `{name}`\n"
        kind = "class" if inspect.isclass(getattr(tallytree, name)) else "function"
        options = "\n   :members:\n   :inherited-members:" if kind == "class" else ""
        yield f"```{{eval-rst}}\n.. auto{kind}:: tallytree.{name}{options}\n```\n"
