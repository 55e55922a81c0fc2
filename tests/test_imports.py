import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("letcc", "theory", "convergence", "figures")


def imported_by(package):
    """Every module that a package's source names in an import, with the file that does."""
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        place = path.relative_to(ROOT)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found += [(alias.name, place) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{place} imports relatively"
                # `from a import b` may import the module a.b
                found += [(node.module, place), *((f"{node.module}.{alias.name}", place) for alias in node.names)]
    assert len(found) > 5
    return found


def offenders(package, *forbidden):
    return [
        (str(place), name)
        for name, place in imported_by(package)
        if any(name == module or name.startswith(f"{module}.") for module in forbidden)
    ]


def run(code):
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def imported_beyond_scipy(code):
    """What scipy.linalg imports, in some versions scipy.sparse, is its own affair."""
    finished = run(f"import sys, scipy.linalg; own = {{*sys.modules}}; {code}; print(*{{*sys.modules}} - own)")
    assert finished.returncode == 0, finished.stderr
    return set(finished.stdout.split())


HEAVY = {
    *("torch", "numba", "matplotlib", "pandas", "rich", "typer"),
    *("scipy.interpolate", "scipy.stats", "scipy.optimize", "scipy.sparse"),
}


def test_import_letcc_is_light():
    assert not imported_beyond_scipy("import letcc") & HEAVY


def test_the_check_above_can_fail():
    assert imported_beyond_scipy("import scipy.stats, letcc") & HEAVY >= {"scipy.stats"}


def test_letcc_works_where_only_numpy_and_scipy_are_installed():
    code = """
import sys
for name in ("torch", "numba", "matplotlib", "pandas", "sklearn", "rich", "typer"):
    sys.modules[name] = None
import letcc
scheme = letcc.CodedScheme.letcc(4, 9, decoder_smoothing=1e-9)
received = [0, 8, 3, 5, 2]
scheme.decode(scheme.encode([1, 2, 3, 4])[received], received)
print(letcc.certify(scheme, received).extremal(0.5) != 0, letcc.metrics.rmse([1], [3]))
"""
    finished = run(code)
    assert finished.stdout.split() == ["True", "2.0"], finished.stderr


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("letcc", ("theory", "convergence", "figures", "torch", "matplotlib", "pandas")),
        ("theory", ("convergence", "figures", "torch", "matplotlib")),
        ("convergence", ("figures", "matplotlib")),
        ("figures", ("convergence", "torch")),
    ],
)
def test_imports_point_one_way(package, forbidden):
    assert offenders(package, *forbidden) == []


def test_figures_compute_no_scheme():
    letcc = {name for name, _ in imported_by("figures") if name.split(".")[0] == "letcc"}
    assert {name for name in letcc if not name.startswith(("letcc.cli", "letcc.exceptions", "letcc.rates"))} <= {
        "letcc"
    }
    assert {name for name in letcc if name.startswith("letcc.rates.")} <= {"letcc.rates.Verdict"}
    theory = {".".join(name.split(".")[:2]) for name, _ in imported_by("figures") if name.startswith("theory.")}
    known = ("again", "claims", "glossary", "interrupt", "options", "report", "store")
    assert theory <= {f"theory.{name}" for name in known}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_looked_at(package):
    assert offenders(package, "dataclasses", "pathlib", "typing")


def test_public_names():
    import letcc

    assert {"CodedScheme", "certify", "exceptions", "metrics", "nodes", "smoothers", "stragglers"} <= set(letcc.__all__)
    assert all(hasattr(letcc, name) for name in letcc.__all__)


def test_the_oldest_versions_tried_are_the_oldest_allowed():
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert len(dependencies) == 2
    tried = (ROOT / "tox.ini").read_text()
    assert all(f"oldest: {name.replace('>=', '==')}." in tried for name in dependencies)
