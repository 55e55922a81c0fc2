"""Draw every figure from the results: ``python -m figures``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from figures.registry import FIGURES
from figures.report import write_report
from figures.results import MissingResult, Results
from figures.sidecar import write_sidecar
from figures.style import FORMATS, WIDTHS, save, style
from letcc.exceptions import LetccError
from theory.options import RESULTS, Out

Name = StrEnum("Name", {name: name for name in FIGURES})
Format = StrEnum("Format", {name: name for name in FORMATS})
Width = StrEnum("Width", {name: name for name in WIDTHS})


def main(
    only: Annotated[list[Name] | None, typer.Option(help="Only this figure; may be repeated.")] = None,
    formats: Annotated[list[Format] | None, typer.Option("--format", help="Only this format; may be repeated.")] = None,
    width: Annotated[Width, typer.Option(help="Of a column or of the page of a two-column paper.")] = Width("page"),
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and draw nothing.")] = False,
    out: Out = RESULTS,
) -> None:
    """Draw the figures of which there are results, each with a JSON file that says what it was drawn from.

    Then, unless only some are asked for, write the page to read, report/index.html, and print its path last.

    For example: python -m figures --only error-against-workers --format svg --width column

    Exits with 0, or with 2 where a result of the main job, or of a figure asked for, is missing.
    """
    if listed:
        for name, module in FIGURES.items():
            typer.echo(f"{name}: {module.CAPTION}")
        return
    chosen = list(dict.fromkeys(map(str, only or FIGURES)))
    suffixes = list(map(str, formats or FORMATS))
    for name in chosen:
        try:
            for path in draw(name, out, suffixes, str(width)):
                typer.echo(path)
        except MissingResult as error:
            if error.optional and not only:
                typer.echo(f"Left out: {name}. {error}", err=True)
                continue
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from error
    if not only:
        try:
            typer.echo(write_report(out))
        except LetccError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from error


def draw(name: str, folder: Path, formats: list[str], width: str) -> list[Path]:
    """Draw a figure into the folder figures/ of the results, with its sidecar.

    Parameters
    ----------
    name : str
        Of `figures.registry.FIGURES`.
    folder : Path
        Of the results.
    formats : list of str
        Of `figures.style.FORMATS`.
    width : str
        Of `figures.style.WIDTHS`.

    Returns
    -------
    list of Path

    Raises
    ------
    MissingResult
    """
    module, results = FIGURES[name], Results(folder)
    with style():
        paths = save(module.draw(results, WIDTHS[width]), folder / "figures", name, formats)
    options = ["--width", width, "--out", str(folder)]
    return [*paths, write_sidecar(results, name, module.CAPTION, module.CLAIMS, options)]


app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
