"""Inputs of the accuracy cases, drawn again from a recipe instead of being stored."""

import hashlib

import numpy as np


def chebyshev(n):
    """Chebyshev points of the second kind, ascending, mirror-symmetric to the last bit.

    Parameters
    ----------
    n : int
        At least two.

    Returns
    -------
    ndarray, shape (n,)
    """
    return np.sin(np.pi * np.arange(1 - n, n, 2) / (2 * (n - 1)))


def chebyshev_first_kind(n):
    """Chebyshev points of the first kind, ascending, mirror-symmetric to the last bit.

    Parameters
    ----------
    n : int

    Returns
    -------
    ndarray, shape (n,)
    """
    return np.sin(np.pi * np.arange(1 - n, n, 2) / (2 * n))


def equispaced(n):
    """Equispaced points including both ends.

    Parameters
    ----------
    n : int
        At least two.

    Returns
    -------
    ndarray, shape (n,)
    """
    return np.arange(1 - n, n, 2) / (n - 1)


def random(n, rng):
    """Sorted uniform points.

    Parameters
    ----------
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n,)
    """
    return np.sort(rng.uniform(-1, 1, n))


def equispaced_with_gaps(n):
    """Equispaced points that lost two inner blocks, each a fifth as many as are left.

    Parameters
    ----------
    n : int
        At least five.

    Returns
    -------
    ndarray, shape (n,)
    """
    block = n // 5
    lost = [*range(block, 2 * block), *range(3 * block, 4 * block)]
    return np.delete(equispaced(n + 2 * block), lost)


def chebyshev_with_lost_ends(n):
    """Chebyshev points of the second kind that lost a fifth as many as are left at either end.

    Parameters
    ----------
    n : int
        At least five.

    Returns
    -------
    ndarray, shape (n,)
    """
    block = n // 5
    return chebyshev(n + 2 * block)[block : n + block]


def random_with_near_pair(n, rng):
    """Sorted uniform points, two of them 1e-7 apart.

    Parameters
    ----------
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n,)
    """
    nodes = random(n - 1, rng)
    return np.sort(np.append(nodes, nodes[n // 2] + 1e-7))


FAMILIES = {
    "chebyshev": lambda n, rng: chebyshev(n),
    "equispaced": lambda n, rng: equispaced(n),
    "random": random,
    "equispaced_with_gaps": lambda n, rng: equispaced_with_gaps(n),
    "chebyshev_with_lost_ends": lambda n, rng: chebyshev_with_lost_ends(n),
    "random_with_near_pair": random_with_near_pair,
}


def draw(family, n, seed):
    """Nodes of a family, standard normal values, and the targets at which their fits are stored.

    Parameters
    ----------
    family : str
        A key of `FAMILIES`.
    n : int
    seed : int

    Returns
    -------
    nodes, values : ndarray, shape (n,)
    targets : ndarray, shape (5,)
        Both ends of [-1, 1], a node, the right one of the two closest nodes, the middle of the widest gap.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes = FAMILIES[family](n, rng)
    values = rng.standard_normal(n)
    gaps = np.diff(nodes)
    widest = np.argmax(gaps)
    middle = (nodes[widest] + nodes[widest + 1]) / 2
    return nodes, values, np.array([-1, nodes[n // 3], nodes[np.argmin(gaps) + 1], middle, 1])


def digest(nodes, values):
    """Fingerprint of a drawn case, which a mathematics library or numpy's stream may change in a last bit.

    Parameters
    ----------
    nodes, values : ndarray, shape (n,)

    Returns
    -------
    str
        SHA-256 of the little-endian float64 bytes of both, in hexadecimal.
    """
    return hashlib.sha256(np.concatenate([nodes, values]).astype("<f8").tobytes()).hexdigest()
