"""One claim in full: what it says, whether it is met here, what was found, and how to find it again."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc.exceptions import InvalidInput
from theory.again import certify_again, measure_again
from theory.claims import BY_ID, Claim
from theory.evidence import Scope
from theory.glossary import meanings
from theory.options import unknown
from theory.report import UNMET, evidence_lines, facts, print_verdict, shortness

_FIELDS = ("claim", "points", "full", "seed")  # of every cell alike, or said elsewhere


def find_claim(name: str) -> Claim:
    """The claim of an id.

    Parameters
    ----------
    name : str

    Returns
    -------
    Claim

    Raises
    ------
    InvalidInput
        If there is none; the message suggests the nearest.
    """
    if name in BY_ID:
        return BY_ID[name]
    raise InvalidInput(unknown("claim", name, BY_ID))


def print_claim(row: dict[str, Any], table: list[dict[str, Any]], scope: Scope, output: Console) -> None:
    """Print everything about one claim.

    Parameters
    ----------
    row : dict
        Its verdict, see `theory.certification.claim_row`.
    table : list of dict
        Its cells.
    scope : Scope
        What was examined.
    output : rich.console.Console
    """
    claim = BY_ID[row["claim"]]
    output.print(f"[bold]{claim.id}[/]{'  (negative control)' if claim.control else ''}")
    output.print(claim.statement, soft_wrap=True)
    output.print("\n".join(f"{name}: {fact}" for name, fact in facts(claim).items()), soft_wrap=True, highlight=False)
    output.print("\n[bold]Assumptions[/]")
    for assumption in claim.assumptions:
        met, why = assumption.check(claim)
        output.print(f"- {assumption.statement}", soft_wrap=True, highlight=False)
        shown = f"met: {why}" if met else f"NOT met: {why}. {UNMET}"
        output.print(f"  {shown}", soft_wrap=True, highlight=False)
    if table:
        output.print()
        _print_cells(table, output)
    else:
        output.print(f"\nIt is not certified, only measured: {measure_again(vars(scope))}", soft_wrap=True)
    predicted = ", ".join(f"{name}: {value:.4g}" for name, value in row["predicted"].items())
    output.print(f"[bold]Predicted[/]  {predicted or 'no exponent'}", highlight=False)
    output.print("[bold]Found[/]", highlight=False)
    output.print("\n".join(f"  {line}" for line in evidence_lines(row["certified"], everything=True)) or "  nothing")
    for name, meaning in meanings(row["certified"] or {}).items():
        output.print(f"  ({name}: {meaning})", soft_wrap=True, highlight=False)
    output.print(f"[bold]Verdict[/]  {print_verdict(row)} (recorded: {claim.expected})", highlight=False)
    if short := shortness([row], vars(scope)):
        output.print(f"[yellow]{short}.[/]", highlight=False)
    output.print(f"\nAgain: {certify_again(claim.id, vars(scope))}", soft_wrap=True, highlight=False)


def _print_cells(cells: list[dict[str, Any]], output: Console) -> None:
    varying = [
        name
        for name in dict.fromkeys(name for cell in cells for name in cell)
        if name not in _FIELDS and (name == "sweep" or any(cell.get(name) for cell in cells))
    ]
    table = Table(box=SIMPLE_HEAD)
    for name in varying:
        table.add_column(name.replace("_", " "), justify="left" if name == "sweep" else "right")
    for cell in cells:
        table.add_row(*(_text(cell, name) for name in varying))
    output.print(table)


def _text(cell: dict[str, Any], name: str) -> str:
    value = cell.get(name)
    if name == "sweep" and cell["points"] not in str(value) and cell["points"] != "chebyshev":
        return f"{value}, {cell['points']}"
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
