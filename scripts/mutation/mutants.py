"""All mutants of a source: one small change each, with a key that outlives changes elsewhere in the file."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from scripts.mutation.changes import change_expression, change_statement

SHOWN = {"__repr__", "_repr_html_"}
"""Functions for people's eyes, which tests need not pin down."""

UNCHANGED = {"annotation", "returns", "decorator_list", "bases", "keywords"}
"""Types, and what is around functions and classes."""


@dataclass(frozen=True)
class Mutant:
    """A change of one place of a file."""

    key: str
    file: str
    line: int
    lines: tuple[int, int]
    """The first and the last line of the statement: a test that runs any of them may notice."""
    scope: str
    on_import: bool
    """Whether it runs when the module is imported, before any test."""
    compiled: bool
    """Whether compiled code may change: a kernel, or a constant of a file that has kernels."""
    before: str
    after: str
    source: str
    """The whole file, changed."""

    @property
    def change(self) -> str:
        """For people."""
        return f"{self.before} -> {self.after}"


@dataclass(frozen=True)
class _Scope:
    name: str = ""
    on_import: bool = True
    compiled: bool = False


@dataclass(frozen=True)
class _Place:
    node: ast.expr | ast.stmt
    lines: tuple[int, int]
    scope: _Scope


def find_mutants(source: str, file: str) -> list[Mutant]:
    """Every mutant that is a program, and another one than the source."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    parts = _cut(tree, starts)
    seen: Counter[str] = Counter()
    found = []
    for place in _walk(tree, _Scope(compiled="@kernel" in source), (1, 1)):
        node = place.node
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        first, last = next(part for part in parts if part[0] <= start < part[1])
        for new in _change(node):
            if ast.dump(new) == ast.dump(node) or not _is_program(
                text[first:start] + _write(new) + text[end:last]
            ):
                continue
            before = _show(text, start, end, text[start:end])
            after = _show(text, start, end, _write(new))
            name = f"{file}|{place.scope.name}|{before}|{after}"
            seen[name] += 1
            key = hashlib.sha256(f"{name}|{seen[name]}".encode()).hexdigest()[:10]
            found.append(
                Mutant(
                    key=key,
                    file=file,
                    line=node.lineno,
                    lines=place.lines,
                    scope=place.scope.name,
                    on_import=place.scope.on_import,
                    compiled=place.scope.compiled,
                    before=before,
                    after=after,
                    source=(text[:start] + _write(new) + text[end:]).decode(),
                )
            )
    return found


def _cut(tree: ast.Module, starts: list[int]) -> list[tuple[int, int]]:
    """Where each statement of the file begins and ends: one is parsed sooner than all of them."""
    lines = [_find_lines(node)[0] - 1 for node in tree.body]
    return list(pairwise([*(starts[line] for line in lines), starts[-1]]))


def _walk(node: ast.AST, scope: _Scope, lines: tuple[int, int]) -> Iterator[_Place]:
    """The places worth changing: not types, docstrings, decorators or messages."""
    if isinstance(node, ast.stmt):
        lines = _find_lines(node)
    if isinstance(node, ast.expr | ast.stmt):
        yield _Place(node, lines, scope)
    for name, value in ast.iter_fields(node):
        if name in UNCHANGED and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_people(child):
                yield from _walk(child, _enter(child, scope), lines)


def _enter(node: ast.AST, scope: _Scope) -> _Scope:
    match node:
        case ast.FunctionDef(name=name):
            return _Scope(f"{scope.name}.{name}".strip("."), False, _is_kernel(node))
        case ast.ClassDef(name=name):
            return _Scope(f"{scope.name}.{name}".strip("."), scope.on_import, False)
    return scope


def _find_lines(node: ast.stmt) -> tuple[int, int]:
    """Those of a statement, without the statements inside it."""
    first = min((line.lineno for line in getattr(node, "decorator_list", [])), default=node.lineno)
    body: list[ast.stmt] = getattr(node, "body", [])
    last = max(first, body[0].lineno - 1) if body else node.end_lineno or first
    return first, last


def _is_for_people(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name=name) if name in SHOWN:
            return True
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.AnnAssign(value=None):
            return True
        case ast.Expr(value=ast.Constant()) | ast.keyword(arg="strict"):  # a check of zip, never in question
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id=name)) if name.endswith(("Error", "TypeVar", "Literal")):
            return True
    return False


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "kernel" for node in function.decorator_list)


def _change(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.expr):
        yield from change_expression(node)
    else:
        yield from change_statement(node)


def _write(new: ast.expr | ast.stmt) -> bytes:
    """In brackets, so that what is around it cannot take it apart."""
    text = ast.unparse(new).encode()
    simple = isinstance(new, ast.Constant | ast.Call | ast.Name | ast.Subscript | ast.Attribute | ast.stmt)
    return text if simple else b"(" + text + b")"


def _show(text: bytes, start: int, end: int, part: bytes) -> str:
    """The lines of the place, with ``part`` in it, as one."""
    first = text.rfind(b"\n", 0, start) + 1
    last = text.find(b"\n", end)
    shown = text[first:start] + part + text[end : last if last >= 0 else len(text)]
    return " ".join(shown.decode().split())


def _is_program(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
