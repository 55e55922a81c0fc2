"""Draw every figure from the results: ``python -m figures``."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from figures import table_1
from figures.registry import FIGURES, TABLES
from figures.report import write_report
from figures.results import MissingResult, Results
from figures.sidecar import write_sidecar
from figures.style import FORMATS, WIDTHS, save, style
from letcc.exceptions import LetccError
from theory.options import RESULTS, Out
from theory.store import write_atomically

_NAMES = (*FIGURES, *TABLES)
Name = StrEnum("Name", {name: name for name in _NAMES})  # type: ignore[misc]
Format = StrEnum("Format", {name: name for name in (*FORMATS, *table_1.FORMATS)})  # type: ignore[misc]
Width = StrEnum("Width", {name: name for name in WIDTHS})  # type: ignore[misc]
_PAGE = Width("page")


def main(
    only: Annotated[list[Name] | None, typer.Option(help="Only this figure or table; may be repeated.")] = None,
    formats: Annotated[list[Format] | None, typer.Option("--format", help="Only this format; may be repeated.")] = None,
    width: Annotated[Width, typer.Option(help="Of a column or of the page of a two-column paper.")] = _PAGE,
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and draw nothing.")] = False,
    out: Out = RESULTS,
) -> None:
    """Draw the figures of which there are results, and Table 1, each with a JSON file that says what it was made from.

    Then, unless only some are asked for, write the page to read, report/index.html, and print its path last.

    For example: python -m figures --only error-against-workers --format svg --width column

    Exits with 0, or with 2 where a result of the main job, or of a figure asked for, is missing.
    """
    if listed:
        for name in _NAMES:
            typer.echo(f"{name}: {(TABLES.get(name) or FIGURES[name]).CAPTION}")
        return
    for name in dict.fromkeys(only or _NAMES):
        possible = TABLES[name].FORMATS if name in TABLES else FORMATS
        suffixes = [suffix for suffix in formats or possible if suffix in possible]
        if only and not suffixes:
            typer.echo(f"Error: {name} comes as {', '.join(possible)}, not as {', '.join(formats or ())}", err=True)
            raise typer.Exit(2)
        try:
            for path in draw(name, out, suffixes, width) if suffixes else ():
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


def draw(name: str, folder: Path, formats: Sequence[str], width: str) -> list[Path]:
    """Draw a figure, or write a table, into the folder figures/ of the results, with its sidecar.

    Parameters
    ----------
    name : str
        Of `figures.registry.FIGURES` or `figures.registry.TABLES`.
    folder : Path
        Of the results.
    formats : sequence of str
        Of `figures.style.FORMATS`, or the table's own.
    width : str
        Of `figures.style.WIDTHS`.

    Returns
    -------
    list of Path

    Raises
    ------
    MissingResult
    """
    results, options = Results(folder), ["--out", str(folder)]
    if table := TABLES.get(name):
        paths = [folder / "figures" / f"{name}.{suffix}" for suffix in formats]
        for path in paths:
            text = table.render(results, path.suffix[1:])
            write_atomically(path, partial(Path.write_text, data=text, encoding="utf-8"))
        return [*paths, write_sidecar(results, name, table.CAPTION, table.CLAIMS, options)]
    module, options = FIGURES[name], ["--width", width, *options]
    with style():
        paths = save(module.draw(results, WIDTHS[width]), folder / "figures", name, formats)
    return [*paths, write_sidecar(results, name, module.CAPTION, module.CLAIMS, options)]


app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
app.command()(main)

if __name__ == "__main__":
    app()
