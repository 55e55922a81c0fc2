"""How sphinx builds these pages: without the network, and such that they can be read without it."""

import inspect
import sys
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

import letcc

project = "letcc"
release = letcc.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = f"letcc {release}"
html_math_renderer = "mathml"  # browsers draw it themselves
html_show_copyright = False
templates_path = ["_templates"]
myst_heading_anchors = 3

rst_prolog = r".. |F| replace:: \|F\|"  # how docstrings write the number of received workers
default_role = "autolink"
nitpick_ignore_regex = [
    ("py:class", r"(abc|concurrent|enum)\..+"),  # not on these pages, and elsewhere there is no looking
    ("py:obj", r"concurrent\..+"),
    ("py:obj", r"[a-z_]+"),  # parameters, and what is inherited
]
autodoc_typehints = "none"  # docstrings say more: shapes, units
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc shows them


def _mathml(translator: HTML5Translator, node: nodes.Element) -> None:
    as_block = isinstance(node, nodes.math_block)
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def _check_reference(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public class, function and module of a module in the reference is there, too."""
    objects = env.domains.python_domain.objects
    for module in [sys.modules[name] for name, found in objects.items() if found.objtype == "module"]:
        for value in filter(_has_a_page, _public(module)):
            homes = ("", f"{module.__name__}.", f"{getattr(value, '__module__', '')}.")
            if not {home + value.__name__ for home in homes} & {*objects}:
                logging.getLogger(__name__).warning("%s of %s is not in the reference", value, module.__name__)


def _has_a_page(value: object) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)


def _public(module: ModuleType) -> list[Any]:
    if hasattr(module, "__all__"):
        return [getattr(module, name) for name in module.__all__]
    own = (value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__)
    return [value for value in own if not getattr(value, "__name__", "_").startswith("_")]


def setup(app: Sphinx) -> None:
    """Register the two functions above."""
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))
    app.connect("env-check-consistency", _check_reference)
