"""How Sphinx builds the site from the Markdown pages of the repository (``make docs``).

The source is the root of the repository, so that links between README, docs/ and benchmarks/ are the same in
the files and on the site. Nothing on a page comes from elsewhere: it reads and searches without a network.
"""

from sphinx.application import Sphinx

import tallytree
from scripts.docs import mathml, source_pages, sources

project = "Tallytree"
version = release = tallytree.__version__
project_copyright = ""

extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/*.md", "docs/**"]
exclude_patterns = [
    ".*",
    "dist",
    "docs/reproduction/results",
    "scripts",
    "site",
    "src",
    "tests",
    "typings",
    "tallytree-*",
]
suppress_warnings = ["misc.highlighting_failure"]  # SQL with a parameter
smartquotes = False

myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Tallytree"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it is fetched, which browsers refuse to do from a disk
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Formulas as MathML, and the navigation."""
    mathml.register(app)
    source_pages.register(app)
    app.connect("source-read", sources.complete)
