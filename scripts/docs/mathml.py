"""Formulas as MathML, which browsers draw by themselves: no script and no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def register(app: Sphinx) -> None:
    """Make ``mathml`` a renderer that Sphinx can be told to take."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
