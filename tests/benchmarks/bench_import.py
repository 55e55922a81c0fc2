"""How long ``import letcc`` takes, beside the part of SciPy that it cannot do without: at most twice as long."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_import(side_by_side):
    def imports(module):
        subprocess.run([sys.executable, "-c", f"import {module}"], cwd=CHECKOUT, check=True)

    side_by_side("import scipy.linalg", lambda: imports("letcc"), lambda: imports("scipy.linalg"), rounds=15, inner=1)
