"""What someone does who has installed the wheel and nothing else; run by ``tox -e wheel``, outside the checkout."""

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import letcc

CONSOLE = f"{sysconfig.get_path('scripts')}/letcc"


def installed():
    packed = {str(path) for path in files("letcc")}
    assert {name.split("/")[0] for name in packed if ".dist-info/" not in name and "/bin/letcc" not in name} == {
        "letcc"
    }
    assert {"letcc/__init__.py", "letcc/py.typed"} <= packed
    assert Path(letcc.__file__).is_relative_to(sysconfig.get_path("purelib"))
    assert not any(map(find_spec, ("torch", "numba", "pandas", "matplotlib", "rich", "typer", "theory")))


def used():
    x = np.random.default_rng(0).normal(size=(20, 3))
    scheme = letcc.CodedScheme.letcc(num_data=20, num_workers=100)
    outputs = np.tanh(scheme.encode(x))
    received = [n for n in range(100) if n % 3][::-1]
    assert np.abs(scheme.decode(outputs[received], received) - np.tanh(x)).max() < 0.5
    certificate = letcc.certify(scheme, received)
    g = certificate.extremal
    errors = scheme.decode(g(scheme.worker_points[received]), received) - g(scheme.data_points)
    np.testing.assert_allclose(np.max(errors**2), certificate.worst_pointwise_mse, rtol=1e-6)
    with ThreadPoolExecutor(16) as pool:
        result = letcc.coded_map(np.tanh, x, scheme, executor=pool, wait_for=80)
    assert len(result.received) == 80
    assert np.abs(result.values - np.tanh(x)).max() < 0.5
    assert letcc.CodedScheme.lagrange(4, 9, degree=2).decode(np.ones((9, 1))).shape == (4, 1)


def console():
    asked = subprocess.run([CONSOLE, "schemes"], capture_output=True, text=True, check=False)
    assert asked.returncode == 2, asked.stderr
    assert "pip install" in asked.stderr
    assert "letcc[cli]" in asked.stderr
    assert "Traceback" not in asked.stderr


if __name__ == "__main__":
    installed()
    used()
    if find_spec("letcc.cli"):
        console()
    print(f"letcc {letcc.__version__} works with NumPy {np.__version__} alone, on Python {sys.version.split()[0]}")
