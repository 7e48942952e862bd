"""A key belongs to one service."""

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.parts import Results
from proofsweep.verify.service import bind_key


def test_a_key_belongs_to_the_service_it_was_first_used_with(results: Results) -> None:
    """Keys of two environments are never interchangeable (contract, Authentication 6)."""
    store = results.store
    bind_key(store, "abc", "https://one.example/v1")
    bind_key(store, "abc", "https://one.example/v1")
    bind_key(store, "def", "https://two.example/v1")

    with pytest.raises(ResultsError, match=r"https://one\.example/v1 before"):
        bind_key(store, "abc", "https://two.example/v1")
