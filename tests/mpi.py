"""What coded_map does on MPI, as JSON: ``mpiexec -n 3 python -m mpi4py.futures tests/mpi.py FOLDER``."""

import json
import os
import sys
from pathlib import Path

import numpy as np
from test_execute import GUARD, NUMBERED, NUMBERED_X, decoded
from workers import Scripted, fails, process_id

from letcc import coded_map
from letcc.exceptions import InvalidInput, TooFewReceived, WorkerFailed


def refused(error, **options):
    try:
        coded_map(x=NUMBERED_X, scheme=NUMBERED, **options)
    except error as raised:
        return str(raised)


def run(executor, folder):
    here = {"x": NUMBERED_X, "scheme": NUMBERED, "executor": executor}
    whole = coded_map(np.sin, **here, deadline=GUARD)
    yield "as decoded", bool((whole.values == decoded(NUMBERED, np.sin, NUMBERED_X, range(12))).all())
    yield "processes", sorted({int(pid) for pid in coded_map(process_id, **here).outputs} - {os.getpid()})
    failing = Scripted(str(folder), fail=(3,), nan=(7,))
    result = coded_map(failing, **here, on_error="straggler", nonfinite="straggler")
    yield "failed", sorted(result.failed)
    yield "notes", result.failed[3].__notes__
    yield "raised", refused(WorkerFailed, f=fails, executor=executor)
    result = coded_map(Scripted(str(folder), hold=(3,)), **here, deadline=0.5)
    yield "late", result.late
    yield "partly decoded", bool((result.values == decoded(NUMBERED, np.sin, NUMBERED_X, result.received)).all())
    (folder / "go").touch()
    yield "afterwards", len(coded_map(np.sin, **here, deadline=GUARD).received)
    (folder / "go").unlink()
    held = Scripted(str(folder), hold=tuple(range(12)))
    for path in folder.glob("pid-*"):
        path.unlink()
    yield "hung", refused(TooFewReceived, f=held, executor=executor, deadline=0.3)
    (folder / "go").touch()
    yield "waited for", len(coded_map(np.sin, **here, wait_for=5).received)
    yield "started", len(list(folder.glob("pid-*")))


if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        found = dict(run(pool, Path(sys.argv[1])))
    found["shut down"] = refused(InvalidInput, f=np.sin, executor=pool)
    print(json.dumps(found))
