"""Draw every figure from the results: ``python -m figures``."""

from types import ModuleType

import typer

from figures import coded_inputs, error_against_workers, extremal_function
from figures.results import MissingResult, Results
from figures.style import save, style
from theory.options import RESULTS, Out

FIGURES: tuple[ModuleType, ...] = (error_against_workers, extremal_function)
OF_STUDIES: tuple[ModuleType, ...] = (coded_inputs,)  # left out where no study was run


def main(out: Out = RESULTS) -> None:
    """Draw every figure into the folder figures/ of the results, as PDF and PNG.

    Exits with 0, or with 2 where a result of the main job is missing.
    """
    for module in (*FIGURES, *OF_STUDIES):
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        try:
            with style():
                for path in save(module.draw(Results(out)), out / "figures", name):
                    typer.echo(path)
        except MissingResult as error:
            if module in OF_STUDIES:
                continue
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from error


if __name__ == "__main__":
    typer.run(main)
