"""The page to read after the main job: every verdict, what it rests on, the figures, and what made them."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from figures import table_1
from figures.inline import Drawing, inline
from figures.notation import notation
from figures.registry import FIGURES
from figures.results import MissingResult, Results
from figures.style import WIDTHS, style
from theory.again import certify_again, measure_again
from theory.claims import BY_ID
from theory.glossary import meanings
from theory.report import UNMET, facts, number_text, rested_on, shortness, tally
from theory.store import write_atomically

_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters |= {"notation": notation, "number": number_text, "bound": lambda x: f"{x:g}" if x >= 1 else f"{x:.2g}"}


def write_report(folder: Path) -> Path:
    """Write report/index.html in the folder of the results, the same bytes for the same results.

    Parameters
    ----------
    folder : Path
        Of the results.

    Returns
    -------
    Path
        Of the page, which needs no other file and no network.

    Raises
    ------
    MissingResult
        If there are no verdicts, or they are not on the claims of the registry; what else is missing, the page says.
    """
    results = Results(folder)
    rows = list(results.verdicts().values())
    drawings, missing = _draw_all(results)
    expected, judged, refuted = tally(rows)
    text = _PAGES.get_template("report.html.j2").render(
        claims=[_claim(row, drawings) for row in rows],
        short=shortness(rows, rows[0]["provenance"]["spec"]),
        tally={"expected": expected, "judged": judged, "refuted": refuted, "controls": sum(r["control"] for r in rows)},
        table_1=_table_1(results),
        table_1_caption=table_1.CAPTION,
        figures=FIGURES,
        drawings=drawings,
        missing=missing,
        about=rows[0]["provenance"],
        read=dict(sorted(results.read.items())),
    )
    path = folder / "report" / "index.html"
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))
    return path


def _draw_all(results: Results) -> tuple[dict[str, Drawing], dict[str, MissingResult]]:
    """The figures, and what to do for those that lack results."""
    drawings: dict[str, Drawing] = {}
    missing: dict[str, MissingResult] = {}
    for name, module in FIGURES.items():
        try:
            with style():
                drawings[name] = inline(module.draw(results, WIDTHS["page"]), name)
        except MissingResult as error:
            missing[name] = error
    return drawings, missing


def _claim(row: dict[str, Any], drawings: dict[str, Drawing]) -> dict[str, Any]:
    claim, predicted = BY_ID[row["claim"]], row["predicted"]
    kinds: dict[str, dict[str, Any]] = {kind: row[kind] or {} for kind in ("certified", "measured")}
    headlines = {}
    for kind, evidence in kinds.items():
        judged = rested_on(evidence)
        # the exponents that the claim names; of others the first, which stands for the rest
        headlines[kind] = {n: v for n, v in judged.items() if n in predicted} or dict(list(judged.items())[:1])
    spec = row["provenance"]["spec"] | {"seed": row["provenance"]["seed"]}
    images = "" if spec.get("images", "digits") == "digits" else " --data-root FOLDER"
    columns = {kind: evidence for kind, evidence in [("predicted", predicted), *kinds.items()] if evidence}
    return {
        "row": row,
        "source": claim.source,
        "facts": {name: fact for name, fact in facts(claim).items() if name != "source"},
        "assumptions": [(each.statement, *each.check(claim)) for each in claim.assumptions],
        "unmet": UNMET,
        "predicted": " ".join(map(_power, claim.exponents, claim.exponents.values())),
        "headlines": headlines,
        "columns": columns,
        "names": list(dict.fromkeys(name for column in columns.values() for name in column)),
        "meanings": meanings([*kinds["certified"], *kinds["measured"]]),
        "figures": [name for name in drawings if row["claim"] in FIGURES[name].CLAIMS],
        "commands": [
            *([certify_again(claim.id, spec)] if row["certified"] else []),
            *([measure_again(spec) + images] if row["measured"] else []),
        ],
    }


def _power(variable: str, exponent: Fraction) -> str:
    base = variable if re.fullmatch(r"\w+|\|\w+\|", variable) else f"({variable})"
    return base if exponent == 1 else f"{base}^({exponent})"


def _table_1(results: Results) -> dict[str, pd.DataFrame] | str:
    """What was tried, and the paper's values on the rest, by label and without empty columns; or how to get it."""
    try:
        table = table_1.rows(results)
    except MissingResult as error:
        return str(error)
    tried = table["(N, K, S)"] != table_1.NONE
    parts = {"Rows of Table 1": table[tried], "The paper's values on networks or images not tried here": table[~tried]}
    return {label: part.loc[:, (part != table_1.NONE).any()] for label, part in parts.items() if len(part)}
