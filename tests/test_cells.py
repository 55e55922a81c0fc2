import math

import pytest

from theory.cells import run_cells
from theory.certification import examine
from theory.evidence import Cell


class TestRunCells:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_rows_come_in_the_order_of_the_cells(self, jobs):
        cells = [20_000, *range(40)]  # the first takes longest
        assert run_cells(math.factorial, cells, jobs, "counting") == [math.factorial(n) for n in cells]

    def test_certificates_do_not_depend_on_the_number_of_jobs(self):
        cells = [Cell(claim, "S", 48, 16, s) for claim in ("letcc-noisy", "bacc-rate") for s in (7, 3, 0)]
        assert run_cells(examine, cells, 1, "certifying") == run_cells(examine, cells, 2, "certifying")

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_a_cell_that_fails_is_an_error(self, jobs):
        with pytest.raises(ValueError, match=r"math domain|nonnegative"):
            run_cells(math.sqrt, [1.0, -1.0, 4.0], jobs, "rooting")

    @pytest.mark.parametrize(
        ("count", "lines"), [(0, []), (2, ["1/2", "2/2"]), (25, [f"{-(-25 * k // 10)}/25" for k in range(1, 11)])]
    )
    def test_progress_on_a_pipe_is_a_line_every_tenth_of_the_way(self, capsys, count, lines):
        run_cells(abs, list(range(count)), 1, "going")
        assert capsys.readouterr().err.splitlines() == [f"going: {line}" for line in lines]
