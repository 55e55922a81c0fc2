"""numpydoc's own validation of all that a user of letcc can reach; ruff knows no generated signatures."""

import inspect
import sys

import pytest

import letcc

numpydoc = pytest.importorskip("numpydoc.validate", reason="numpydoc comes with the extra test")

CHECKED = {
    *("GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10"),  # layout, and the order of sections
    *("SS01", "SS02", "SS03", "SS04", "SS06"),  # the summary: one line that ends with a period
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR10"),  # every parameter, in order, with its type
    *("RT01", "RT02", "YD01"),  # what is returned
}


def reachable():
    for name in letcc.__all__:
        value = getattr(letcc, name)
        if inspect.ismodule(value):
            yield from sorted(f"{value.__name__}.{member}" for member in vars(value) if is_public(value, member))
        else:
            yield f"letcc.{name}"


def is_public(module, member):
    value = vars(module)[member]
    ours = getattr(value, "__module__", "") == module.__name__ or member in getattr(module, "__all__", ())
    return ours and not member.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))


def documented_above(parent, member):
    """A method that only says what is special about it, where a base class documents the rest."""
    return any(member in vars(base) for base in parent.__mro__[1:])


def objects():
    for name in reachable():
        yield name
        module, _, attribute = name.rpartition(".")
        parent = getattr(sys.modules[module], attribute)
        if inspect.isclass(parent):
            for member, value in vars(parent).items():
                documents = callable(value) or isinstance(value, (property, classmethod, staticmethod))
                if documents and not member.startswith("_") and not documented_above(parent, member):
                    yield f"{name}.{member}"


def problems(name):
    found = numpydoc.validate(name)
    codes = CHECKED
    if "\nAttributes\n" in found["docstring"]:
        codes = CHECKED - {"PR01"}  # made by letcc, not by its users
    return [f"{code}: {message}" for code, message in found["errors"] if code in codes]


OBJECTS = list(objects())


def test_the_list_reaches_everything():
    assert len(OBJECTS) > 80
    assert {"letcc.plan", "letcc.CodedScheme.letcc", "letcc.smoothers.SobolevRidge", "letcc.nodes.is_masked"} <= {
        *OBJECTS
    }


@pytest.mark.parametrize("name", OBJECTS)
def test_numpydoc_finds_nothing(name):
    assert problems(name) == []


def test_the_check_above_can_fail(monkeypatch):
    monkeypatch.setattr(letcc.plan, "__doc__", "Plan\n\n    Parameters\n    ----------\n    f : callable\n")
    assert {problem[:4] for problem in problems("letcc.plan")} >= {"SS03", "PR01", "RT01"}
