"""Sphinx configuration: `sphinx-build -W docs docs/_build/html`; works offline."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

import optuna
import plotly
import plotly.io
from plotly.io.base_renderers import HtmlRenderer

project = "optuna-mofs"
release = importlib.metadata.version("optuna-mofs")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "tutorials/*.rst"]
html_theme = "furo"
html_title = "optuna-mofs"
html_show_copyright = False
html_static_path = ["_build/plotly"]  # created below

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",  # tables of benchmarks start at the third level
    "ref.ref",  # docstrings inherited from scikit-learn refer to its pages
]

autosummary_generate = True
autodoc_typehints = "none"  # docstrings describe them
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "_tutorials",
    "filename_pattern": r"[/\\]\d_",  # run all of them
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": (),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
}

optuna.logging.set_verbosity(optuna.logging.WARNING)

# The figures of the tutorials share one copy of plotly.js, which only pages with a figure load.
_scripts = Path(__file__).parent / "_build" / "plotly"
_scripts.mkdir(parents=True, exist_ok=True)
shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", _scripts)
plotly.io.renderers["docs"] = HtmlRenderer(
    full_html=False, include_plotlyjs="../_static/plotly.min.js"
)
plotly.io.renderers.default = "docs"
