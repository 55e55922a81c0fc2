"""Draw every figure from the results: ``python -m figures``."""

import theory.interrupt  # noqa: F401  # first, for its effect

# isort: split

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from figures.registry import FIGURES
from figures.results import MissingResult, Results
from figures.sidecar import write_sidecar
from figures.style import FORMATS, WIDTHS, save, style
from theory.options import RESULTS, Out, Program, one_of

app = Program()


def _name(what: str, names: Collection[str], text: str, *words: str) -> Any:
    return typer.Option(*words, metavar="NAME", parser=one_of(what, names), help=text)


@app.command()
def main(
    only: Annotated[list[str] | None, _name("figure", FIGURES, "Only this one of --list; may be repeated.")] = None,
    formats: Annotated[
        list[str] | None, _name("format", FORMATS, f"Only this one of {', '.join(FORMATS)}.", "--format")
    ] = None,
    width: Annotated[str, _name("width", WIDTHS, "Of a column or the page of a two-column paper.")] = "page",
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and draw nothing.")] = False,
    out: Out = RESULTS,
) -> None:
    """Draw the figures of which there are results, each with a JSON file that says what it was drawn from.

    For example: python -m figures --only error-against-workers --format svg --width column

    Exits with 0, or with 2 where a result of the main job, or of a figure asked for, is missing.
    """
    if listed:
        for name, module in FIGURES.items():
            typer.echo(f"{name}: {module.CAPTION}")
        return
    chosen = list(dict.fromkeys(only or FIGURES))
    suffixes = list(formats or FORMATS)
    for name in chosen:
        try:
            for path in draw(name, out, suffixes, width):
                typer.echo(path)
        except MissingResult as error:
            if error.optional and not only:
                typer.echo(f"Left out: {name}. {error}", err=True)
                continue
            raise


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


if __name__ == "__main__":
    app()
