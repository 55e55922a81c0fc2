"""How to get what is shown again: the options of a run, from what its results record of it."""

from collections.abc import Mapping
from typing import Any

from theory.evidence import QUICK, Scope


def certify_again(claim: str, spec: Mapping[str, Any]) -> str:
    """The command that certifies a claim as in a run.

    Parameters
    ----------
    claim : str
        Its id, or a word in its place.
    spec : mapping
        Of the run, with its seed; what it lacks is as by default.

    Returns
    -------
    str
    """
    return f"python -m theory --claim {claim}{_options(spec, ('max_n', 'seed', 'full', 'quick'))}"


def measure_again(spec: Mapping[str, Any]) -> str:
    """The command that measures the claims as in a run.

    Parameters
    ----------
    spec : mapping
        As `certify_again` takes it.

    Returns
    -------
    str
    """
    return f"python -m convergence{_options(spec, ('seed', 'quick'))}"


def _options(spec: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Those that differ from the defaults; --quick implies a largest N, which is not said again."""
    default = vars(QUICK if spec.get("quick") else Scope()) | {"quick": False}
    given = [(f" --{name.replace('_', '-')}", spec.get(name)) for name in names if spec.get(name) != default[name]]
    return "".join(option if value is True else f"{option} {value}" for option, value in given if value is not None)
