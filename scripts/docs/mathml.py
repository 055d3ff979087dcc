"""Formulas as MathML, which browsers draw by themselves: no script and no network."""

import xml.etree.ElementTree as ET

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

SPACE = "http://www.w3.org/1998/Math/MathML"
ACCENTS = {"\u02c6": "\u0302", "~": "\u0303"}

ET.register_namespace("", SPACE)


def register(app: Sphinx) -> None:
    """Make ``mathml`` a renderer that Sphinx can be told to take."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def write_formula(tex: str, *, block: bool = False) -> str:
    """A formula in TeX's language as MathML."""
    root = ET.fromstring(tex2mathml(tex, as_block=block))
    for element in root.iter():
        if element.tag in (_name("mover"), _name("munderover")) and element[-1].text in ACCENTS:
            _join_accent(element)
    return ET.tostring(root, encoding="unicode")


def _join_accent(element: ET.Element) -> None:
    """A letter with an accent as one letter: not every browser has a font that puts one over the other.

    A subscript goes beside it. (Docutils puts it below, as if this were a sum.)
    """
    letter, *subscript, accent = element
    joined = ET.Element(_name("mi"), {"class": "accented"})
    joined.text = f"{letter.text}{ACCENTS[str(accent.text)]}"
    element.tag = _name("msub" if subscript else "mrow")
    element.attrib.clear()
    element[:] = [joined, *subscript]


def _name(tag: str) -> str:
    return f"{{{SPACE}}}{tag}"


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(write_formula(node.astext()))
    raise nodes.SkipNode


def _visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{write_formula(node.astext(), block=True)}</div>')
    raise nodes.SkipNode
