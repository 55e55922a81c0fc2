"""Verdicts for people, and what they mean for the exit status."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from letcc.rates import Verdict
from theory.claims import BY_ID

_NARROWEST = 124  # below it the intervals break
_STYLE = {"attained": "green", "holds": "cyan", "refuted": "red", "inconclusive": "yellow"}


def console() -> Console:
    """Standard output, wide enough for the tables.

    Returns
    -------
    rich.console.Console
    """
    return Console(width=max(Console().width, _NARROWEST))


def print_verdicts(rows: list[dict[str, Any]], output: Console) -> None:
    """Print the table of claims.

    Parameters
    ----------
    rows : list of dict
        As `theory.certification.certify_claims` returns them, joined with measurements or not.
    output : rich.console.Console
    """
    table = Table(title="Claims", box=SIMPLE_HEAD, show_lines=True)
    for column in ("claim", "source", "predicted", "certified", "measured", "verdict"):
        table.add_column(column, no_wrap=column != "source", min_width=14 if column == "source" else None)
    for row in rows:
        claim = BY_ID[row["claim"]]
        name = f"{claim.id}\n[dim]false on purpose[/]" if claim.control else claim.id
        verdict = f"[{_STYLE[row['verdict']]}]{row['verdict']}[/]"
        if row["verdict"] != row["expected"]:
            verdict += f"\n[bold red]expected: {row['expected']}[/]"
        cells = (_evidence(row[key]) for key in ("predicted", "certified", "measured"))
        table.add_row(name, f"{claim.citation} [dim]({claim.provenance})[/]", *cells, verdict)
    output.print(table)


def _evidence(evidence: dict[str, Any] | None) -> str:
    if not evidence:
        return "-"
    return "\n".join(f"{name}: {_number(value)}".replace(", ", ",\n  ") for name, value in evidence.items())


def _number(value: Any) -> str:
    if not isinstance(value, dict):
        return f"{value:.3g}" if isinstance(value, float) else str(value)
    if value["value"] is None:
        return "too few points"
    return f"{value['value']:.2f} ± {(value['high'] - value['low']) / 2:.2f}"


def exit_status(rows: list[dict[str, Any]], *, partial: bool = False) -> int:
    """Whether all is as recorded.

    Parameters
    ----------
    rows : list of dict
    partial : bool
        The rows carry only a part of the evidence, for which it is no failure to be inconclusive.

    Returns
    -------
    int
        0 where every verdict is the expected one and every control is refuted, else 1.
    """
    if partial:
        rows = [row for row in rows if row["verdict"] != Verdict.INCONCLUSIVE]
    surviving = any(row["control"] and row["verdict"] != Verdict.REFUTED for row in rows)
    return int(surviving or any(row["verdict"] != row["expected"] for row in rows))
