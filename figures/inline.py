"""Figures as SVG that stands in a page: ids that no other figure has, no style but their own, colours of the page."""

import io
import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
from markupsafe import Markup
from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """A figure in a page.

    Attributes
    ----------
    view_box : str
    content : markupsafe.Markup
        What stands inside the SVG's element.
    on_paper : bool
        Whether it needs a white ground: it has images, whose colours stay, and they would not go with text of others.
    """

    view_box: str
    content: Markup
    on_paper: bool


def inline(figure: Figure, name: str) -> Drawing:
    """Draw a figure for a page, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Before the ids; of no other figure in the page.

    Returns
    -------
    Drawing
        The same on every run.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    plt.close(figure)
    root = ET.fromstring(file.getvalue())
    for element in root.iter():
        element.tag = element.tag.partition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    on_paper = root.find(".//image") is not None
    _rename(root, name)
    if not on_paper:
        _recolour(root)
    content = "".join(ET.tostring(child, encoding="unicode") for child in root)
    return Drawing(root.attrib["viewBox"], Markup(content), on_paper)


def _rename(root: ET.Element, name: str) -> None:
    """Keep the ids that something points to, and let both begin with the figure's name."""
    pointer = re.compile(r"(?:(?<=^)|(?<=url\())#(.+?)(?=\)|$)")
    links = ("href", "clip-path", "style")
    used = {to for e in root.iter() for key in links for to in pointer.findall(e.get(key, ""))}
    for element in root.iter():
        identity = element.attrib.pop("id", "")
        if identity in used:
            element.set("id", f"{name}-{identity}")
        for key in element.attrib.keys() & set(links):
            element.set(key, pointer.sub(rf"#{name}-\1", element.attrib[key]))


def _recolour(root: ET.Element) -> None:
    """From black to white becomes from the page's ink to its ground; what has no colour is black, the ink."""

    def grey(match: re.Match[str]) -> str:
        share = 100 * (1 - int(match[1], 16) / 255)
        return f"color-mix(in srgb, var(--ink) {share:.0f}%, var(--card))"

    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", re.sub(r"#([0-9a-f]{2})\1\1\b", grey, element.attrib["style"]))
