"""Write the reference values beside this file.

Run ``python -m tests.reference.generate`` from the repository root: about 15 seconds, with or without gmpy2,
and the same bytes every time. All numbers are float64 roundings of values with 60 correct digits; infinity is
written as the string "inf", which ``float`` reads back.

``spline.json``
    Fits by smoothing splines. Another implementation made them: they are checked here, never rewritten.
``certificate.json``
    ``given``: made and checked like the splines. ``received``: worst cases of decoders from the points of
    some received workers. ``convergence``: worst cases without stragglers, with Chebyshev points of the
    first kind as data points and of the second kind as worker points.
``operators.json``
    Rows of the matrices of the other smoothers, and fits by Sobolev ridge regression.
``accuracy.json``
    Fits by smoothing splines on inputs that `cases.draw` draws again. Where ``sha256`` differs from
    `cases.digest` of what was drawn, the platform rounds differently and the case says nothing.
"""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np

from . import cases, high_precision

HERE = Path(__file__).parent
SMOOTHINGS = [0, 1e-14, 1e-11, 1e-8, 1e-5, 1e-2, 10.0, 1e4, 1e7, 1e10, 1e14, "inf"]


def main():
    """Check the given values, compute the others, write the files."""
    check_given_splines(read("spline.json")["given"])
    given = read("certificate.json")["given"]
    check_given_certificates(given)
    computed = {"received": received_certificates(), "convergence": convergence()}
    write("certificate.json", {"given": given, **computed})
    write("operators.json", operators())
    write("accuracy.json", {"drawn": accuracy()})


def read(name):
    """Read lists of cases by name."""
    return json.loads((HERE / name).read_text())


def write(name, sections):
    """Write lists of cases by name, one case a line."""
    blocks = []
    for key, section in sections.items():
        lines = ",\n".join(json.dumps(case, allow_nan=False) for case in section)
        blocks.append(f'"{key}": [\n{lines}\n]')
    (HERE / name).write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def check_given_splines(given):
    """Raise where a given fit is not reproduced to 1e-15."""
    for case in given:
        fitted = high_precision.smoothing_spline(
            case["nodes"], case["values"], float(case["smoothing"]), case["targets"]
        )
        assert_close(fitted, case["expected"])


def check_given_certificates(given):
    """Raise where a given worst case is not reproduced to 1e-15."""
    for case in given:
        points = {"chebyshev": cases.chebyshev, "equispaced": cases.equispaced}[case["worker_points"]]
        nodes = np.delete(points(case["workers"]), case["stragglers"]).tolist()
        rows = high_precision.smoothing_spline_operator_rows(nodes, case["smoothing"], case["data_points"])
        _, pointwise, average = high_precision.certificate(rows, case["data_points"], nodes, "seminorm")
        assert_close([pointwise, average], [case["worst_pointwise_mse"], case["worst_average_mse"]])


def assert_close(computed, given):
    """Raise unless all given numbers are within 1e-15 of the computed ones, relatively."""
    for number, other in zip(computed, given, strict=True):
        if abs(number - other) > 1e-15 * abs(number):
            raise AssertionError(f"given {other!r}, computed {float(number)!r}")


def received_certificates():
    """Worst cases of spline, Berrut and Lagrange decoders on sets of received workers."""
    sets = [
        ("chebyshev", 8, 2, []),
        ("chebyshev", 12, 4, [1, 4, 9]),
        # the data points are the worker points 2, 6, 10 and 14, the first of which is lost
        ("chebyshev", 17, 4, [1, 2]),
        ("equispaced", 20, 5, [0, 1, 2, 3]),
        ("chebyshev", 32, 8, [14, 15, 16]),
        ("equispaced", 40, 8, [7, 19, 20, 21, 38]),
        ("chebyshev", 40, 8, [36, 37, 38, 39]),
    ]
    found = []
    for points, workers, count, stragglers in sets:
        nodes = np.delete(getattr(cases, points)(workers), stragglers).tolist()
        data_points = cases.chebyshev_first_kind(count).tolist()
        decoders = [({"decoder": "berrut"}, high_precision.berrut_operator(nodes, data_points))]
        for smoothing in (0, 1e-6, 1e-2):
            rows = high_precision.smoothing_spline_operator_rows(nodes, smoothing, data_points)
            decoders.append(({"decoder": "spline", "smoothing": smoothing}, rows))
        if workers <= 17:
            decoders.append(({"decoder": "lagrange"}, high_precision.lagrange_operator(nodes, data_points)))
        found.append(
            {
                "points": points,
                "workers": workers,
                "stragglers": stragglers,
                "nodes": nodes,
                "data_points": data_points,
                "worst": [
                    {**decoder, "ball": ball, **worst_case(rows, data_points, nodes, ball)}
                    for decoder, rows in decoders
                    for ball in ("seminorm", "full")
                ],
            }
        )
    return found


def worst_case(rows, data_points, nodes, ball):
    """Certificate of a matrix as JSON numbers, "inf" where it is unbounded."""
    gram, pointwise, average = high_precision.certificate(rows, data_points, nodes, ball)
    if math.isinf(pointwise):
        return {"worst_pointwise_mse": "inf", "worst_average_mse": "inf"}
    return {
        "worst_pointwise_mse": float(pointwise),
        "worst_average_mse": float(average),
        "pointwise_mse": floats(gram[k, k] for k in range(len(data_points))),
    }


def convergence():
    """Worst cases without stragglers as N doubles: the interpolating spline and Berrut's interpolant."""
    data_points = cases.chebyshev_first_kind(8).tolist()
    found = []
    for workers in (32, 64, 128, 256):
        nodes = cases.chebyshev(workers).tolist()
        spline = high_precision.smoothing_spline_operator_rows(nodes, 0, data_points)
        berrut = high_precision.berrut_operator(nodes, data_points)
        for decoder, rows, ball in (("spline", spline, "seminorm"), ("berrut", berrut, "full")):
            case = {"decoder": decoder, "ball": ball, "data_points": 8, "workers": workers}
            _, pointwise, average = high_precision.certificate(rows, data_points, nodes, ball)
            case |= {"worst_pointwise_mse": float(pointwise), "worst_average_mse": float(average)}
            found.append(case)
    return found


def operators():
    """Rows of the other smoothers' matrices, and Sobolev ridge fits."""
    rng = np.random.Generator(np.random.PCG64(1))
    chebyshev = cases.chebyshev(33)
    received = [np.sort(rng.choice(33, size, replace=False)) for size in (8, 15, 24)]
    berrut = [np.array([0.25]), cases.equispaced(2), cases.chebyshev(9), cases.random(12, rng)]
    berrut += [chebyshev[kept] for kept in received] + [rng.permutation(chebyshev[received[0]])]
    lagrange = [cases.chebyshev_first_kind(n) for n in (2, 20, 100)]
    lagrange += [cases.chebyshev(20), cases.equispaced(20)]
    polynomial = [(cases.equispaced(12), degree) for degree in (0, 1, 3)]
    polynomial += [(cases.chebyshev(30), 7), (cases.random(40, rng), 10), (cases.chebyshev(8), 7)]

    found = {"berrut": [], "lagrange": [], "least_squares_polynomial": [], "sobolev_ridge": []}
    for nodes in berrut:
        case = {"nodes": nodes.tolist(), "targets": hits_and_misses(nodes)}
        found["berrut"].append(case | {"rows": table(high_precision.berrut_operator(**case))})
    for nodes in lagrange:
        case = {"nodes": nodes.tolist(), "targets": hits_and_misses(nodes)}
        found["lagrange"].append(case | {"rows": table(high_precision.lagrange_operator(**case))})
    for nodes, degree in polynomial:
        case = {"nodes": nodes.tolist(), "degree": degree, "targets": hits_and_misses(nodes)}
        rows = table(high_precision.least_squares_polynomial_operator(**case))
        found["least_squares_polynomial"].append(case | {"rows": rows})
    for n in (1, 2, 3, 10, 40):
        nodes, values = cases.random(n, rng), rng.standard_normal(n)
        case = {"nodes": nodes.tolist(), "values": values.tolist(), "targets": hits_and_misses(nodes)}
        fits = []
        for length_scale, smoothing in product((0.1, 0.5, 2.0, 100.0), (0, 1e-8, 1e-4, 1.0)):
            fit = {"length_scale": length_scale, "smoothing": smoothing}
            fits.append(fit | {"expected": floats(high_precision.sobolev_ridge(**case, **fit))})
        found["sobolev_ridge"].append(case | {"fits": fits})
    return found | local_polynomials()


def local_polynomials():
    """Rows of the interpolants made of polynomials through neighbours."""
    rng = np.random.Generator(np.random.PCG64(2))
    families = ("chebyshev", "equispaced", "equispaced_with_gaps", "chebyshev_with_lost_ends")
    recipes = [(family, 5, (0, 4)) for family in families]
    recipes += [(family, 12, (1, 2, 3)) for family in (*families, "random_with_near_pair")]
    recipes += [(family, 40, (3,)) for family in families[:3]] + [("chebyshev_with_lost_ends", 40, (3, 12))]
    found = {"floater_hormann": [], "not_a_knot_spline": []}
    for family, n, degrees in recipes:
        nodes = cases.FAMILIES[family](n, rng)
        case = {"family": family, "nodes": nodes.tolist(), "targets": [*hits_and_misses(nodes), -1.1]}
        arrays = {"nodes": case["nodes"], "targets": case["targets"]}
        for degree in degrees:
            rows = table(high_precision.floater_hormann_operator(**arrays, degree=degree))
            found["floater_hormann"].append(case | {"degree": degree, "rows": rows})
        rows = table(high_precision.not_a_knot_spline_operator(**arrays))
        found["not_a_knot_spline"].append(case | {"rows": rows})
    return found


def hits_and_misses(nodes):
    """Targets at a node, one unit in the last place to either side of it, and anywhere."""
    node = float(nodes[len(nodes) // 2])
    return [-1.0, -0.3, math.nextafter(node, -1), node, math.nextafter(node, 1), 0.55, 1.0]


def accuracy():
    """Fits of every node family, size and smoothing."""
    recipes = [(family, n, SMOOTHINGS) for family in cases.FAMILIES for n in (5, 50, 200)]
    recipes += [(family, 2000, [0, 1e-14, 1e-6, 1e2, 1e6, 1e14]) for family in cases.FAMILIES]
    found = []
    for seed, (family, n, smoothings) in enumerate(recipes):
        nodes, values, targets = cases.draw(family, n, seed)
        arrays = {"nodes": nodes.tolist(), "values": values.tolist(), "targets": targets.tolist()}
        fits = []
        for smoothing in smoothings:
            fitted = high_precision.smoothing_spline(**arrays, smoothing=float(smoothing))
            fits.append({"smoothing": smoothing, "expected": floats(fitted)})
        recipe = {"family": family, "n": n, "seed": seed, "sha256": cases.digest(nodes, values)}
        found.append(recipe | {"fits": fits})
    return found


def floats(numbers):
    """Round to float64."""
    return [float(number) for number in numbers]


def table(rows):
    """Round a matrix to float64."""
    return [floats(row) for row in rows]


if __name__ == "__main__":
    main()
