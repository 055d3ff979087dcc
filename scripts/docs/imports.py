"""Which module of the package imports which."""

import ast
from pathlib import Path

import tallytree

PACKAGE = Path(tallytree.__file__).parent

Graph = dict[str, set[str]]


def read_imports(root: Path = PACKAGE) -> Graph:
    """For each module, without the package's name: what it imports to run, modules and names in them."""
    return {name_module(path, root): _find_imports(path) for path in sorted(root.rglob("*.py"))}


def name_module(path: Path, root: Path = PACKAGE) -> str:
    """``privacy.noise`` for ``privacy/noise.py``."""
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def find_reachable(graph: Graph, module: str) -> set[str]:
    """All modules that are loaded, now or later, by way of this one."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        for target in graph.get(todo.pop(), set()):
            if target in graph and target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def _find_imports(path: Path) -> set[str]:
    """Not those that a file only names in types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tallytree"):
            base = node.module.removeprefix("tallytree").removeprefix(".")
            found |= {base} | {f"{base}.{alias.name}".removeprefix(".") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("tallytree.") for a in node.names if "tallytree." in a.name}
    return found
