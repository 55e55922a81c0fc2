"""The script `letcc`; and what the programs of a checkout share with it, in `letcc.cli.options`."""

import sys


def main() -> None:
    """Run the script, or say how to install what it needs."""
    import letcc.cli.interrupt  # noqa: F401  # for its effect

    try:
        from letcc.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print('letcc: the command line needs typer and rich: pip install "letcc[cli]"', file=sys.stderr)
        sys.exit(2)
    app()
