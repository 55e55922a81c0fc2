"""Write docs/claims.md from the registry and the results: ``python -m theory.page``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from theory.claims import CLAIMS, Claim
from theory.glossary import meanings
from theory.options import RESULTS
from theory.report import evidence_lines
from theory.store import read_rows, write_atomically

_PAGE = Path(__file__).parents[1] / "docs" / "claims.md"
_HEAD = """\
# Claims

What the literature of coded computing for general functions claims, and what exact certificates say of it. Written by
`python -m theory.page` from `theory/claims.py` and the results of `python -m theory`: do not edit.

Read: found in the paper. Recalled: from memory of it, not read again. Exponents are those of the worst squared error,
with the interval of the fit; in brackets where the verdict does not rest on them. An assumption that is not met here
makes a claim that is attained all the same hold in more cases than were proven. One of the negative controls is the
false half of a printed swap; the others are in no paper. Measured only: there is no certificate, and
`python -m convergence` gives the verdict.
"""


def render(rows: list[dict[str, Any]]) -> str:
    """The page.

    Parameters
    ----------
    rows : list of dict
        One for each claim, see `theory.certification.claim_row`.

    Returns
    -------
    str
        Markdown.
    """
    by_id = {row["claim"]: row for row in rows}
    summary = ["| claim | source | expected | verdict |", "| --- | --- | --- | --- |"]
    summary += [
        f"| [{claim.id}](#{_anchor(claim)}) | {claim.source} | {claim.expected} | {_verdict(claim, by_id[claim.id])} |"
        for claim in CLAIMS
    ]
    found = dict.fromkeys(name for row in rows for name in row["certified"] or {})
    names = ["Names of what was found:", "", *(f"- `{name}`: {text}" for name, text in meanings(found).items()), ""]
    return "\n".join([_HEAD, *names, *summary, "", *(_section(claim, by_id[claim.id]) for claim in CLAIMS)])


def _anchor(claim: Claim) -> str:
    return claim.id.replace(".", "")


def _verdict(claim: Claim, row: dict[str, Any]) -> str:
    return "measured only" if claim.evidence is None else row["verdict"]


def _section(claim: Claim, row: dict[str, Any]) -> str:
    predicted = ", ".join(f"{name}: {float(exponent):.4g}" for name, exponent in claim.exponents.items())
    facts = {
        "Source": claim.source,
        "Superseded by": claim.superseded_by and f"`{claim.superseded_by}`",
        "Quantity": claim.quantity,
        "Stragglers": claim.stragglers,
        "λ_d": claim.smoothing.formula if claim.method == "letcc" else "",
        "Exponents": predicted,
        "Verdict": f"**{_verdict(claim, row)}**" + (", a negative control" if claim.control else ""),
    }
    lines = [f"## {claim.id}", "", claim.statement, ""]
    lines += [f"- {name}: {fact}" for name, fact in facts.items() if fact]
    for assumption in claim.assumptions:
        met, why = assumption.check(claim)
        lines.append(f"- Assumes that {assumption.statement} ({'met' if met else '**not met**'}: {why})")
    found = evidence_lines(row["certified"], everything=True)
    if found:
        lines += ["", "```text", *found, "```", "", f"`python -m theory --claim {claim.id}`"]
    else:
        lines += ["", "`python -m convergence`"]
    return "\n".join(lines) + "\n"


def main(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    page: Annotated[Path, typer.Option(help="What to write.")] = _PAGE,
) -> None:
    """Write the page of the claims from certified.json."""
    results = out / "certified.json"
    if not results.is_file():
        typer.echo(f"Error: {results} is missing: run python -m theory --out {out} first", err=True)
        raise typer.Exit(2)
    text = render(read_rows(results))
    write_atomically(page, lambda partial: partial.write_text(text, encoding="utf-8"))


if __name__ == "__main__":
    typer.run(main)
