"""The paper's table, with its values beside ours, in the formats of papers."""

import pandas as pd

from figures.names import shown
from figures.results import Results
from theory.claims import PAPER

CAPTION = (
    "Table 1: RMSE and relative accuracy of each scheme on trained networks, mean ± standard deviation over the "
    "trials; the 95 % interval of the mean of RMSE minus BACC's in the same trials; and the paper's values, in rows of "
    "their own where the paper's images or network were not tried."
)
CLAIMS = ("table-1",)
FORMATS = ("tex", "md", "csv")
NONE = "–"


def rows(results: Results) -> pd.DataFrame:
    """The table for people.

    Parameters
    ----------
    results : Results

    Returns
    -------
    DataFrame
        Of texts. The paper's rows on networks or images that were not tried are at the end, without ours.

    Raises
    ------
    MissingResult
    """
    ours = {(row["network"], row["dataset"], row["scheme"]): row for row in results.rows("table1")}
    return pd.DataFrame([_row(key, ours.get(key), PAPER.get(key)) for key in dict.fromkeys((*ours, *PAPER))])


def _row(key: tuple[str, str, str], ours: dict[str, object] | None, paper: tuple[float, ...] | None) -> dict[str, str]:
    network, images, scheme = key
    found = {"network": shown(network), "images": shown(images)}
    found |= {"(N, K, S)": NONE, "scheme": scheme.replace("lambda", "λ")}
    if ours:
        found["(N, K, S)"] = "({num_workers}, {num_data}, {num_stragglers})".format_map(ours)
        difference = "{rmse_difference_low:+.2f} to {rmse_difference_high:+.2f}".format_map(ours)
        found |= {
            "RMSE": "{rmse_mean:.2f} ± {rmse_std:.2f}".format_map(ours),
            "minus BACC's": difference.replace("-", "−") if scheme != "BACC" else NONE,
            "relative accuracy": "{relacc_mean:.3f} ± {relacc_std:.3f}".format_map(ours),
        }
    else:
        found |= dict.fromkeys(("RMSE", "minus BACC's", "relative accuracy"), NONE)
    return found | {
        "paper: RMSE": f"{paper[0]:.2f} ± {paper[1]:.2f}" if paper else NONE,
        "paper: relative accuracy": f"{paper[2]:.2f} ± {paper[3]:.2f}" if paper else NONE,
    }


def render(results: Results, suffix: str) -> str:
    """The table as a file.

    Parameters
    ----------
    results : Results
    suffix : str
        Of `FORMATS`: LaTeX for the package booktabs, Markdown, or numbers separated by commas.

    Returns
    -------
    str
    """
    table = rows(results)
    if suffix == "csv":
        return str(table.to_csv(index=False))
    if suffix == "md":
        lines = [table.columns, ["---"] * table.columns.size, *table.to_numpy()]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text: str = table.to_latex(index=False, escape=True)
    for sign, latex in (("±", r"$\pm$"), ("−", "$-$"), ("–", "--"), ("λ", r"$\lambda$")):
        text = text.replace(sign, latex)
    return text
