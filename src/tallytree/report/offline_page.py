"""An HTML file that contains its style, its script and its data, and loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape, unescape
from importlib.resources import files

from tallytree.markup import Html, join, tag

POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""What a page may load: its own script and style, by their digests, and nothing else."""

HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="tallytree">
<link rel="icon" href="data:,">
{{title}}
<style>{{style}}</style>
</head>
"""
"""What all pages begin with: a template holds the rest."""

_MARKED = re.compile(r"(<[^>]*>|\{\{\w+\}\})")
"""What is not text in a template."""
_PLACE = re.compile(r"\{\{(\w+)\}\}")
"""What is filled in."""

HOME = "tallytree.report"
"""The part of the package whose assets all pages share."""


def build_page(
    template: str,
    parts: Mapping[str, str],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    home: str = HOME,
    reword: Callable[[str], str] | None = None,
) -> str:
    """Fill the head of all pages and a template of ``home``; its styles and scripts are joined, in order.

    The texts of the template can be put into other words. Assets are taken from the folder ``assets`` of
    ``home`` or, if there is none of that name, from those that all pages share.
    """
    style = Html("\n".join(_read(name, home) for name in styles))
    script = Html(_join_scripts([_read(name, home) for name in scripts]))
    filled = {**parts, "policy": _write_policy(script=script, style=style), "style": style, "script": script}
    return _fill(HEAD + _read(template, home), filled, reword)


def embed_text(text: Html, key: str, kind: str) -> Html:
    """Return an element that holds data for the script: JSON, or bytes in base64."""
    return tag("script", text, type=f"application/{kind}", id=key)


def _fill(template: str, parts: Mapping[str, str], reword: Callable[[str], str] | None) -> str:
    """Fill a template in one pass: what is filled in is not searched again, whatever it holds."""
    pieces = _MARKED.split(template)
    if reword is not None:
        pieces[::2] = [escape(reword(unescape(text)), quote=False) for text in pieces[::2]]
    pieces[1::2] = [_PLACE.sub(lambda found: join(parts[found[1]]), piece) for piece in pieces[1::2]]
    return "".join(pieces)


def _write_policy(*, script: str, style: str) -> str:
    return POLICY.format(script=_digest(script), style=_digest(style))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _join_scripts(scripts: Sequence[str]) -> str:
    sections = "\n".join(scripts)
    return f'"use strict";\n(() => {{\n{sections}\n}})();\n'


def _read(name: str, home: str) -> str:
    own = files(home) / "assets" / name
    shared = files(HOME) / "assets" / name
    return (own if own.is_file() else shared).read_text(encoding="utf-8")
