"""Refusals of the suite in full: the value, the cause and the way out."""

import pytest

from convergence import stability
from convergence.networks.images import DataNotFound, load_images
from convergence.networks.importing import import_data
from letcc.exceptions import InvalidInput
from theory.claims import BY_ID
from theory.evidence.base import Scope, doubling
from theory.store import check_folder


def says(error, message, refused, *arguments, **options):
    with pytest.raises(error) as caught:
        refused(*arguments, **options)
    assert str(caught.value) == message


def test_too_small_a_grid():
    says(InvalidInput, "max_n is 100: a slope needs N = 32, 64, ..., 256", doubling, 32, 100)
    bound = BY_ID["bacc-sup"]
    message = "max_n is 4: the grid of bacc-sup starts at 32"
    says(InvalidInput, message, bound.evidence.cells, bound, Scope(max_n=4))


def test_a_folder_that_takes_no_files(tmp_path):
    (tmp_path / "file").touch()
    says(InvalidInput, f"nothing can be written to {tmp_path / 'file'}: File exists", check_folder, tmp_path / "file")


def test_unknown_methods_of_the_comparison():
    listed = ", ".join(stability.METHODS)
    message = f"unknown methods ['kriging']: choose from {listed}"
    says(InvalidInput, message, stability.table, ("spline", "kriging"))


def test_images_that_are_not_there(tmp_path):
    listed = "there is no data set 'svhn': digits, mnist, cifar10, imagenet"
    says(InvalidInput, listed, load_images, "svhn", train=True)
    says(DataNotFound, f"{tmp_path / 'x'} is not a folder", import_data, tmp_path / "x", tmp_path)
    message = (
        f"data root {tmp_path} does not hold ImageNet: {tmp_path}/imagenet/val/WNID is missing. Put the validation "
        "images there, one folder a class, or lay out a sample of them by python -m convergence import-data SOURCE "
        f"--data-root '{tmp_path}'"
    )
    says(DataNotFound, message, load_images, "imagenet", tmp_path, train=False)
