import math
from itertools import islice

import numpy as np
import pytest

from letcc.exceptions import InvalidInput
from letcc.stragglers import AtMost, Bernoulli, ConsecutiveBlock

MODELS = [AtMost(0), AtMost(3), ConsecutiveBlock(0), ConsecutiveBlock(3), Bernoulli(0.0), Bernoulli(0.4)]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


@every_model
class TestEveryModel:
    @pytest.mark.parametrize("num_workers", [4, 7])
    def test_all_is_what_count_says_and_every_set_stands_in_it_once(self, model, num_workers):
        sets = [tuple(received.tolist()) for received in model.all(num_workers)]
        assert len(sets) == len(set(sets)) == model.count(num_workers)
        for received in sets:
            assert received
            assert list(received) == sorted(set(received))
            assert set(received) <= set(range(num_workers))
        for seed in range(30):
            assert tuple(model.sample(num_workers, seed).tolist()) in sets

    def test_a_seed_gives_the_same_set_and_a_generator_goes_on(self, model):
        for seed in (7, np.random.SeedSequence(7)):
            np.testing.assert_array_equal(model.sample(50, seed), model.sample(50, seed))
        generators = [np.random.default_rng(7) for _ in range(2)]
        first, second = ([model.sample(50, generator).tolist() for _ in range(8)] for generator in generators)
        assert first == second
        if model.count(50) > 1:
            assert len(set(map(tuple, first))) > 1
            assert len({tuple(model.sample(50, seed).tolist()) for seed in range(8)}) > 1

    @pytest.mark.parametrize("num_workers", [0, -1, 2.5, "9"])
    def test_bad_number_of_workers(self, model, num_workers):
        for method in (model.count, model.all, lambda n: model.sample(n, 0)):
            with pytest.raises(InvalidInput, match=f"not {num_workers!r}"):
                method(num_workers)


def test_counts():
    assert AtMost(3).count(7) == 1 + 7 + 21 + 35
    assert ConsecutiveBlock(3).count(7) == 5
    assert ConsecutiveBlock(0).count(7) == 1
    assert Bernoulli(0.4).count(7) == 127


def test_blocks_are_the_runs_of_neighbours():
    lost = [sorted(set(range(7)) - set(received.tolist())) for received in ConsecutiveBlock(3).all(7)]
    assert lost == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]


@pytest.mark.parametrize("model", [AtMost(3), ConsecutiveBlock(3)], ids=str)
def test_samples_lose_exactly_the_number_and_every_worker_now_and_then(model):
    generator = np.random.default_rng(0)
    sets = [model.sample(10, generator) for _ in range(4000)]
    assert {received.size for received in sets} == {7}
    lost = 1 - np.bincount(np.concatenate(sets), minlength=10) / len(sets)
    expected = np.full(10, 0.3) if model == AtMost(3) else np.array([1, 2, 3, 3, 3, 3, 3, 3, 2, 1]) / 8
    np.testing.assert_allclose(lost, expected, atol=0.035)  # more than four standard deviations


def test_bernoulli_loses_each_worker_with_its_probability_given_that_one_answers():
    generator = np.random.default_rng(0)
    sets = [Bernoulli(0.6).sample(3, generator) for _ in range(4000)]
    assert all(received.size for received in sets)
    answered = np.bincount(np.concatenate(sets), minlength=3) / len(sets)
    np.testing.assert_allclose(answered, 0.4 / (1 - 0.6**3), atol=0.035)


def test_bernoulli_ends_where_hardly_any_worker_answers():
    assert Bernoulli(0.999).sample(1, 0).tolist() == [0]


class TestBadParameters:
    @pytest.mark.parametrize("model", [AtMost, ConsecutiveBlock])
    @pytest.mark.parametrize("stragglers", [-1, 1.5, True, "2", None])
    def test_stragglers(self, model, stragglers):
        with pytest.raises(InvalidInput, match=f"not {stragglers!r}"):
            model(stragglers)

    @pytest.mark.parametrize("probability", [-0.1, 1.0, 1.5, math.nan, "0.5", None])
    def test_probability(self, probability):
        with pytest.raises(InvalidInput, match=f"probability is {probability!r}"):
            Bernoulli(probability)

    @pytest.mark.parametrize("model", [AtMost(5), ConsecutiveBlock(5)], ids=str)
    @pytest.mark.parametrize("num_workers", [4, 5])
    def test_none_would_be_left(self, model, num_workers):
        for method in (model.count, model.all, lambda n: model.sample(n, 0)):
            with pytest.raises(InvalidInput, match=f"5 stragglers leave none of {num_workers} workers"):
                method(num_workers)
        assert model.sample(6, 0).size == 1

    @pytest.mark.parametrize("model", [AtMost(20), Bernoulli(0.5)], ids=str)
    def test_too_many_to_list_is_said_before_listing(self, model):
        with pytest.raises(InvalidInput, match="received sets of 40 workers, too many to list"):
            model.all(40)

    def test_large_lists_are_lazy(self):
        first = list(islice(AtMost(4).all(100), 2))
        assert [received.size for received in first] == [100, 99]
