"""Verdicts for people, and what they mean for the exit status."""

from typing import Any

from rich.console import Console
from rich.table import Table

from letcc.rates import Verdict
from theory.claims import BY_ID

_STYLE = {"attained": "green", "holds": "cyan", "refuted": "red", "inconclusive": "yellow"}


def print_verdicts(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the table of claims.

    Parameters
    ----------
    rows : list of dict
        As `theory.certification.certify_claims` returns them, joined with measurements or not.
    console : rich.console.Console
    """
    table = Table("claim", "source", "predicted", "certified", "measured", "verdict", title="Claims", show_lines=True)
    for column in (0, 3, 4):
        table.columns[column].no_wrap = True
    for row in rows:
        claim = BY_ID[row["claim"]]
        name = f"{claim.id}\n[dim]false on purpose[/]" if claim.control else claim.id
        verdict = f"[{_STYLE[row['verdict']]}]{row['verdict']}[/]"
        if row["verdict"] != row["expected"]:
            verdict += f"\n[bold red]expected: {row['expected']}[/]"
        cells = (_evidence(row[key]) for key in ("predicted", "certified", "measured"))
        table.add_row(name, f"{claim.citation} [dim]({claim.provenance})[/]", *cells, verdict)
    console.print(table)


def _evidence(evidence: dict[str, Any] | None) -> str:
    if not evidence:
        return "-"
    return "\n".join(f"{name}: {_number(value)}" for name, value in evidence.items())


def _number(value: Any) -> str:
    if not isinstance(value, dict):
        return f"{value:.3g}" if isinstance(value, float) else str(value)
    if value["value"] is None:
        return "too few points"
    return f"{value['value']:.2f} \\[{value['low']:.2f}, {value['high']:.2f}]"


def exit_status(rows: list[dict[str, Any]]) -> int:
    """Whether all is as recorded.

    Parameters
    ----------
    rows : list of dict

    Returns
    -------
    int
        0 where every verdict is the expected one and every control is refuted, else 1.
    """
    surviving = any(row["control"] and row["verdict"] != Verdict.REFUTED for row in rows)
    return int(surviving or any(row["verdict"] != row["expected"] for row in rows))
