"""What all pages have in common: templates that are filled in, and what a page may load."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files

from tallytree.markup import join

POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""What a page may load: its own script and style, by their digests, and nothing else."""

NOTHING = "'none'"


def write_policy(*, script: str = NOTHING, style: str) -> str:
    """Return the content security policy of a page, whose script and style are given by :func:`digest`."""
    return POLICY.format(script=script, style=style)


def digest(text: str) -> str:
    """Return the digest by which a policy allows a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def read_asset(name: str) -> str:
    """Return a part of a page."""
    return (files("tallytree.report") / "assets" / name).read_text(encoding="utf-8")


def fill_page(name: str, parts: Mapping[str, str]) -> str:
    """Return a template with its parts, in one pass: what is filled in is not searched again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: join(parts[found[1]]), read_asset(name))
