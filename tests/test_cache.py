import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import letcc.scheme
from letcc import CodedScheme
from letcc._cache import BoundedCache
from letcc.exceptions import InvalidInput


class Block:
    def __init__(self, nbytes):
        self.nbytes = nbytes


class TestBoundedCache:
    def test_the_least_recently_used_goes_first(self):
        cache = BoundedCache(max_bytes=10)
        a, b, c = Block(4), Block(4), Block(4)
        for key, block in (("a", a), ("b", b), ("a", a), ("c", c)):
            cache.get(key, lambda block=block: block)
        assert cache.get("a", lambda: None) is a
        assert cache.get("c", lambda: None) is c
        assert cache.get("b", lambda: Block(0)) is not b

    def test_what_is_too_large_is_not_kept_and_drives_nothing_out(self):
        cache = BoundedCache(max_bytes=10)
        small = cache.get("small", lambda: Block(10))
        cache.get("large", lambda: Block(11))
        assert cache.get("small", lambda: None) is small

    def test_what_fails_is_not_kept(self):
        cache = BoundedCache(max_bytes=10)
        with pytest.raises(ZeroDivisionError):
            cache.get("key", lambda: 1 / 0)
        assert cache.get("key", lambda: Block(1)).nbytes == 1

    def test_threads_agree(self):
        cache = BoundedCache(max_bytes=50)
        barrier = threading.Barrier(8)

        def work(seed):
            barrier.wait()
            for key in np.random.default_rng(seed).integers(0, 20, 2000).tolist():
                assert cache.get(key, lambda key=key: Block(key)).nbytes == key

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert cache._bytes == sum(block.nbytes for block in cache._entries.values()) <= 50


class TestDecoding:
    @pytest.fixture
    def builds(self, monkeypatch):
        """How often a matrix was prepared, with nothing remembered from before."""
        built = []
        monkeypatch.setattr(letcc.scheme, "PREPARED", BoundedCache(2**20))
        prepare = letcc.scheme.Prepared.__init__

        def counted(self, *arguments):
            built.append(1)
            prepare(self, *arguments)

        monkeypatch.setattr(letcc.scheme.Prepared, "__init__", counted)
        return built

    def test_a_set_seen_before_is_not_built_again(self, builds):
        outputs = np.ones((3, 2))
        for _ in range(3):
            CodedScheme.letcc(4, 10).decode(outputs, [7, 0, 3])  # equal schemes share
        assert len(builds) == 1
        CodedScheme.letcc(4, 10).decode(outputs, [0, 3, 7])
        CodedScheme.letcc(4, 10, decoder_smoothing=0.1).decode(outputs, [7, 0, 3])
        assert len(builds) == 3

    def test_arrays_of_equal_bytes_are_not_mistaken_for_each_other(self):
        scheme = CodedScheme.letcc(2, 4)
        scheme.decoding_matrix(np.array([1, 0, 1, 1], dtype=bool))
        with pytest.raises(InvalidInput, match="more than once"):
            scheme.decoding_matrix(np.array([1, 0, 1, 1], dtype=np.int8))
        scheme.decoding_matrix(np.array([3, 0]))
        with pytest.raises(InvalidInput, match="one axis"):
            scheme.decoding_matrix(np.array([[3, 0]]))

    def test_what_is_handed_out_cannot_be_changed(self):
        matrix = CodedScheme.letcc(4, 10).decoding_matrix([1, 2, 3])
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 0] = 1

    def test_nothing_of_it_is_pickled(self):
        scheme = CodedScheme.letcc(4, 10)
        size = len(pickle.dumps(scheme))
        scheme.decode(np.ones((9, 5)), range(9))
        assert len(pickle.dumps(scheme)) == size

    def test_a_matrix_made_in_inference_mode_serves_autograd_later(self, torch):
        scheme = CodedScheme.letcc(4, 11)
        with torch.inference_mode():
            scheme.decode(torch.ones(3, 2), [0, 5, 9])
        outputs = torch.ones(3, 2, requires_grad=True)
        scheme.decode(outputs, [0, 5, 9]).sum().backward()
        np.testing.assert_allclose(outputs.grad[:, 0], scheme.decoding_matrix([0, 5, 9]).sum(axis=0), rtol=1e-5)
