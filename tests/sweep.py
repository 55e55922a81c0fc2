"""A sweep to be killed: ``python tests/sweep.py --executor processes --out FOLDER``."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))


def work(cell):
    generator = np.random.default_rng(cell)
    return {"cell": cell, "value": float(np.linalg.svd(generator.standard_normal((40, 40)))[1].sum())}


if __name__ == "__main__":
    import pandas as pd

    from theory.cells import run_cells, sweeping
    from theory.store import provenance, write_table

    executor, out = sys.argv[2], Path(sys.argv[4])
    with sweeping(executor, out):
        rows = run_cells(work, range(2000), 2, "sweeping")
        write_table(out / "table.parquet", pd.DataFrame(rows), provenance({"program": "sweep"}))
