"""What can be changed about a node of a syntax tree: the mutants' kinds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""The boundary, and the opposite."""

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}

OPPOSITES = {
    name: other
    for one, two in (
        ("min", "max"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("any", "all"),
        ("floor", "ceil"),
    )
    for name, other in ((one, two), (two, one))
}

SYMMETRIC = {*OPPOSITES, "isinstance", "gcd", "lcm", "logical_and", "logical_or"}
"""Calls whose arguments may be swapped, or are of kinds that cannot be."""


def change_expression(node: ast.expr) -> Iterator[ast.expr]:
    """Every expression that may stand in the place of this one."""
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    changed = [*ops[:index], other(), *ops[index + 1 :]]
                    yield ast.Compare(node.left, changed, node.comparators)
        case ast.BinOp(left=left, op=operator, right=right):
            if type(operator) in OPERATORS and not _is_text(left) and not _is_text(right):
                yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for index in range(len(values)):
                rest = values[:index] + values[index + 1 :]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value * 2 if value else 1.0)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Call():
            yield from _change_call(node)
        case ast.Subscript(slice=ast.Slice() as part):
            for new in _change_slice(part):
                yield ast.Subscript(node.value, new, node.ctx)
        case _:
            pass


def change_statement(node: ast.stmt) -> Iterator[ast.stmt]:
    """Every statement that may stand in the place of this one, besides those with a changed expression."""
    match node:
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.AugAssign(op=op):
            yield ast.Pass()
            if type(op) in OPERATORS:
                yield ast.AugAssign(node.target, OPERATORS[type(op)](), node.value)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Pass()
        case _:
            pass


def _change_call(node: ast.Call) -> Iterator[ast.Call]:
    name = _name(node.func)
    if name in OPPOSITES:
        yield ast.Call(_rename(node.func, OPPOSITES[name]), node.args, node.keywords)
    elif name not in SYMMETRIC and len(node.args) == 2 and not node.keywords:
        yield ast.Call(node.func, node.args[::-1], [])


def _change_slice(part: ast.Slice) -> Iterator[ast.Slice]:
    """One less at either end; constants are changed by themselves."""
    if part.lower is None:
        yield ast.Slice(ast.Constant(1), part.upper, part.step)
    elif not isinstance(part.lower, ast.Constant):
        yield ast.Slice(ast.BinOp(part.lower, ast.Add(), ast.Constant(1)), part.upper, part.step)
    if part.upper is None:
        yield ast.Slice(part.lower, ast.Constant(-1), part.step)
    elif not isinstance(part.upper, ast.Constant):
        yield ast.Slice(part.lower, ast.BinOp(part.upper, ast.Sub(), ast.Constant(1)), part.step)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _rename(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, function.ctx)
    return ast.Name(name, ast.Load())


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr)
