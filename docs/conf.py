"""Configuration of the documentation site: ``make docs`` builds it from the checkout alone.

The source folder is the root of the checkout, so that links between ``docs/`` and ``notebooks/`` lead to the
same pages on the site and in a browser of the repository.
"""

import sys
from pathlib import Path

from IPython.lib.lexers import IPython3Lexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "nbtools"
author = "the nbtools developers"
copyright = author  # noqa: A001 - Sphinx's name
html_title = "nbtools"
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "notebooks/*.ipynb",
    "notebooks/course/*.ipynb",
    "tests/traces/samples/SOURCES.md",
]
exclude_patterns = [
    ".*",
    "**/node_modules",
    "labextension",
    "nbtools",
    "bench",
    "dist",
    "build",
    "notebooks/scratch",
]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_copybutton",
    "generated_pages",
    "gallery",
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
nb_execution_mode = "off"
nb_ipywidgets_js = {}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "nbtools"},
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_footer_items": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
}


def setup(app: Sphinx) -> None:
    """Highlights Python blocks as IPython does, so that magics are not errors."""
    for name in ("python", "ipython", "ipython3"):
        app.add_lexer(name, IPython3Lexer)
