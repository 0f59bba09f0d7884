"""The documentation as a site and as a manual page, by Sphinx: see CONTRIBUTING.md.

The reference of commands is made of what ``hone --help`` says.
"""

from __future__ import annotations

import click
from sphinx.application import Sphinx

from dbhone import __version__

project = "dbhone"
copyright = "the authors of dbhone"
release = __version__
extensions = ["myst_parser", "sphinx_click"]
myst_heading_anchors = 4
exclude_patterns = ["site"]
suppress_warnings = ["misc.highlighting_failure"]  # Mermaid is drawn by the hub, and is text here
html_theme = "furo"
html_title = "dbhone"
html_static_path: list[str] = []
man_pages: list[tuple[str, str, str, list[str], int]] = [
    ("reference", "hone", "builds a faster database server, and proves it", [], 1)
]


def _add_examples(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    del app
    examples = getattr(context.command, "examples", ())
    if examples:
        lines += ["Examples::", "", *(f"   {example}" for example in examples), ""]


def setup(app: Sphinx) -> None:
    """Let each command show its examples."""
    app.connect("sphinx-click-process-epilog", _add_examples)
