"""Write docs/figures.md from the registry of figures: ``python -m figures.page``."""

import re
from pathlib import Path

from figures.registry import FIGURES, TABLES
from figures.results import MissingResult, Results
from figures.style import FORMATS
from theory.store import write_atomically

_PAGE = Path(__file__).parents[1] / "docs" / "figures.md"
_HEAD = f"""\
# Reproducing the figures

Figure by figure: the command that makes its results, and the one that draws it. Written by `python -m figures.page`
from `figures/registry.py`: do not edit.

`python -m figures` draws all of which there are results, into `results/figures/`, as {", ".join(FORMATS)}, the same
bytes on every run, each with a JSON file that says what it was drawn from. `--list` names them, `--format` and
`--width` choose what is drawn. The paper is arXiv 2406.00300; what is said of it is recalled.
"""
_IN_THE_PAPER = {
    "error-against-workers": "the rate of convergence",
    "networks-against-stragglers": "error and relative accuracy against the number of stragglers",
    "table-1": "Table 1",
    "smoothing-sensitivity": "the ablation of the smoothing parameters",
    "coded-inputs": "the coded samples",
}


def render() -> str:
    """The page.

    Returns
    -------
    str
        Markdown.
    """
    return "\n".join([_HEAD, *map(_section, [*FIGURES, *TABLES])])


def _section(name: str) -> str:
    module = TABLES.get(name) or FIGURES[name]
    facts = {
        "In the paper": _IN_THE_PAPER.get(name),
        "Claims": ", ".join(f"[{claim}](claims.md#{claim.replace('.', '')})" for claim in module.CLAIMS),
        "Results": f"`{_made_by(name)}`",
        "Drawn by": f"`python -m figures --only {name}`",
    }
    lines = [f"- {fact}: {text}" for fact, text in facts.items() if text]
    return "\n".join([f"## {name}", "", module.CAPTION, "", *lines, ""])


def _made_by(name: str) -> str:
    """The command that a figure asks for where there are no results."""
    nowhere = Results(_PAGE.with_name("nowhere"))
    try:
        TABLES[name].rows(nowhere) if name in TABLES else FIGURES[name].draw(nowhere, 1.0)
    except MissingResult as missing:
        asked = re.search(r": run (.+) --out ", str(missing))
        assert asked
        return asked[1]
    raise AssertionError(f"{name} is drawn from nothing")


if __name__ == "__main__":
    write_atomically(_PAGE, lambda partial: partial.write_text(render(), encoding="utf-8"))
