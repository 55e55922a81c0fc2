"""Draw every figure from the results: ``python -m figures``."""

import theory.interrupt  # noqa: F401  # first, for its effect

# isort: split

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from figures import table_1
from figures.registry import FIGURES, TABLES
from figures.report import write_report
from figures.results import MissingResult, Results, seeds
from figures.sidecar import write_sidecar
from figures.style import FORMATS, WIDTHS, save, style
from letcc.exceptions import InvalidInput
from theory.options import RESULTS, Out, Program, one_of
from theory.store import write_atomically

_NAMES = (*FIGURES, *TABLES)
_FORMATS = (*FORMATS, *table_1.FORMATS)

app = Program()


def _name(what: str, names: Collection[str], text: str, *words: str) -> Any:
    return typer.Option(*words, metavar="NAME", parser=one_of(what, names), help=text)


@app.command()
def main(
    only: Annotated[list[str] | None, _name("figure", _NAMES, "Only this one of --list; may be repeated.")] = None,
    formats: Annotated[
        list[str] | None, _name("format", _FORMATS, f"Only this one of {', '.join(_FORMATS)}.", "--format")
    ] = None,
    width: Annotated[str, _name("width", WIDTHS, "Of a column or the page of a two-column paper.")] = "page",
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and draw nothing.")] = False,
    out: Out = RESULTS,
) -> None:
    """Draw the figures of which there are results, each with a JSON file that says what it was drawn from.

    Then, unless only some are asked for, write the page to read, report/index.html, and print its path last.

    For example: python -m figures --only error-against-workers --format svg --width column

    Exits with 0, or with 2 where a result of the main job, or of a figure asked for, is missing.
    """
    if listed:
        for name in _NAMES:
            typer.echo(f"{name}: {(TABLES.get(name) or FIGURES[name]).CAPTION}")
        return
    if len(found := seeds(out)) > 1:
        each = "; ".join(f"{', '.join(names)} of seed {seed}" for seed, names in sorted(found.items()))
        typer.echo(f"Warning: {out} has results of different seeds, so that figures may mix runs: {each}", err=True)
    for name in dict.fromkeys(only or _NAMES):
        possible = _possible(name)
        suffixes = [suffix for suffix in formats or possible if suffix in possible]
        if only and not suffixes:
            raise InvalidInput(f"{name} comes as {', '.join(possible)}, not as {', '.join(formats or ())}")
        try:
            for path in draw(name, out, suffixes, width) if suffixes else ():
                typer.echo(path)
        except MissingResult as error:
            if not error.optional or only:
                raise
            typer.echo(f"Left out: {name}. {error}", err=True)
    if not only:
        typer.echo(write_report(out))


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
    if set(formats) != set(_possible(name)):
        options = [*(word for each in formats for word in ("--format", each)), *options]
    if table := TABLES.get(name):
        paths = [folder / "figures" / f"{name}.{suffix}" for suffix in formats]
        for path in paths:
            text = table.render(results, path.suffix[1:])
            write_atomically(path, partial(Path.write_text, data=text, encoding="utf-8"))
        return [*paths, write_sidecar(results, name, table.CAPTION, table.CLAIMS, options, paths)]
    module, options = FIGURES[name], ["--width", width, *options]
    with style():
        paths = save(module.draw(results, WIDTHS[width]), folder / "figures", name, formats)
    return [*paths, write_sidecar(results, name, module.CAPTION, module.CLAIMS, options, paths)]


def _possible(name: str) -> Sequence[str]:
    """The formats that a figure or a table comes in."""
    return TABLES[name].FORMATS if name in TABLES else FORMATS


if __name__ == "__main__":
    app()
