"""Rational interpolants in rational arithmetic, where a sign is a sign."""

from fractions import Fraction
from itertools import pairwise
from math import prod


def berrut_rows(nodes, targets):
    """Correctly rounded rows over ascending nodes."""
    rows = []
    for x in map(Fraction, targets):
        distances = [x - Fraction(node) for node in nodes]
        if 0 in distances:
            rows.append([float(d == 0) for d in distances])
            continue
        terms = [(-1) ** rank / d for rank, d in enumerate(distances)]
        denominator = sum(terms)
        rows.append([float(term / denominator) for term in terms])
    return rows


def floater_hormann_rows(nodes, degree, targets):
    """Correctly rounded rows over ascending nodes, by the definition: local polynomials and what blends them."""
    nodes = [Fraction(node) for node in nodes]
    rows = []
    for x in map(Fraction, targets):
        if x in nodes:
            rows.append([float(x == node) for node in nodes])
            continue
        row, denominator = [Fraction(0)] * len(nodes), Fraction(0)
        for start in range(len(nodes) - degree):
            local = range(start, start + degree + 1)
            blending = (-1) ** start / prod(x - nodes[j] for j in local)
            denominator += blending
            for j in local:
                row[j] += blending * prod((x - nodes[m]) / (nodes[j] - nodes[m]) for m in local if m != j)
        rows.append([float(entry / denominator) for entry in row])
    return rows


def shows_pole(signs, nodes):
    """Whether D(x) prod(x - node), D(x) = sum of sign / (x - node), changes sign between or outside ascending nodes.

    It is a polynomial, so that a change of its sign is a zero of D, which no numerator cancels for all values.
    """
    nodes = [Fraction(node) for node in nodes]
    probes = [nodes[0] - 1, *((a + b) / 2 for a, b in pairwise(nodes)), nodes[-1] + 1]
    found = set()
    for x in probes:
        denominator = sum(sign / (x - node) for sign, node in zip(signs, nodes, strict=True))
        value = denominator * prod(x - node for node in nodes)
        found.add((value > 0) - (value < 0))
    return len(found) > 1
