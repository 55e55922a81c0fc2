"""What a file of results must hold for figures to be drawn from it."""

from typing import Any

import pandas as pd

_ORIGIN = {"seed", "versions", "revision", "spec"}
_FIT = {"value", "low", "high"}


def _with_intervals(*names: str) -> set[str]:
    return {name + end for name in names for end in ("", "_low", "_high")}


# what figures and the page read, of each file that they read
COLUMNS: dict[str, set[str]] = {
    "certified.parquet": {"claim", "sweep", "num_workers", "stragglers", "points", "parameter", "error", "optimum"}
    | {"bound", "smooth", "median", "least", "most", "low", "high", "uncertainty"},
    "measured.parquet": {"problem", "scheme", "smoothing", "noise", "model", "sweep"}
    | {"num_workers", "stragglers", "error", "uncertainty"},
    "slopes.parquet": {"problem", "scheme", "smoothing", "noise", "model", "sweep", "exponent", "low", "high"},
    "extremal.parquet": {"scheme", "part", "t", "value"},
    "polynomials.parquet": {"problem", "scheme", "num_workers", "num_data", "received", "threshold"}
    | {"typical", "error", "refused"},
    "studies.parquet": {"study", "metric", "network", "dataset", "scheme", "num_workers", "num_data", "num_stragglers"}
    | _with_intervals("mean"),
    "coded_inputs.parquet": {"network", "dataset", "scheme", "worker", "shape", "pixels"},
    "latency.parquet": {"latency", "task", "scheme", "workers", "data", "rule", "wait_for", "deadline"}
    | _with_intervals("p50", "p95", "p99", "p99.9", "decoded", "rmse", "relative_accuracy"),
    "stability.parquet": {"method", "dtype", "error"},
    "lebesgue.parquet": {"method", "n"} | _with_intervals("lebesgue"),
    "speed.parquet": {"method", "num_workers"} | _with_intervals("seconds", "ratio"),
    "verdicts.json": {"claim", "verdict", "expected", "control", "statement", "source", "provenance_of_claim"}
    | {"predicted", "certified", "measured", "provenance"},
    "table1.json": {"network", "dataset", "scheme", "num_workers", "num_data", "num_stragglers", "trials"}
    | {"rmse_mean", "rmse_std", "relacc_mean", "relacc_std", "provenance"}
    | _with_intervals("rmse_difference"),
}


def fault(name: str, content: pd.DataFrame | list[dict[str, Any]]) -> str:
    """What is wrong with a file that could be read.

    Parameters
    ----------
    name : str
        Of the file.
    content : DataFrame or list of dict
        With provenance, as `theory.store` reads it.

    Returns
    -------
    str
        Empty if nothing is.
    """
    if not len(content):
        return "it has no rows"
    rows = [dict.fromkeys(content) | content.attrs] if isinstance(content, pd.DataFrame) else content
    if not all(map(_says_what_made_it, rows)):
        return "it does not say what made it"
    if lacking := sorted(COLUMNS.get(name, set()) - set.intersection(*map(set, rows))):
        return f"it lacks {', '.join(lacking)}"
    return next(filter(None, map(_of_verdict, rows)), "") if name == "verdicts.json" else ""


def _says_what_made_it(row: dict[str, Any]) -> bool:
    origin = row.get("provenance")
    return isinstance(origin, dict) and origin.keys() >= _ORIGIN and isinstance(origin["spec"], dict)


def _of_verdict(row: dict[str, Any]) -> str:
    if not isinstance(row["claim"], str):
        return f"{row['claim']!r:.40} is no claim"
    for key in ("predicted", "certified", "measured"):
        needed = _FIT | {"judged"} if key == "certified" else _FIT
        evidence = {} if row[key] is None and key != "predicted" else row[key]
        if not isinstance(evidence, dict):
            return f"{key} of {row['claim']} is {evidence!r:.40}, no mapping"
        for part, value in evidence.items():
            if isinstance(value, list) or (isinstance(value, dict) and not value.keys() >= needed):
                return f"{part} of {row['claim']}, {key}, is {value!r:.40}, no exponent with its interval"
    return ""
