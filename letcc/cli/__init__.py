"""The script `letcc`; and what the programs of a checkout share with it, in `letcc.cli.options`."""

import sys


def main() -> None:
    """Run the script, or say how to install what it needs."""
    try:
        from letcc.cli.commands import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        print('letcc: the command line needs typer and rich: pip install "letcc[cli]"', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        sys.exit(130)
    app()
