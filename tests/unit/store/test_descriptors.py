"""A store in a process that may open no further file: that passes, and is no fault."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from peos.collection.lifecycle import State
from tests.raising import raises
from tests.unit.store.made import DIGEST, frozen, sqlite, stored
from tests.unit.store.made import vector as vector_of


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process may open no further file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_without_descriptors_has_no_fault_and_goes_on_once_it_has_some(tmp_path: Path) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        calls: list[Callable[[], object]] = [
            lambda: store.set_state(DIGEST, State.SHUFFLING),
            lambda: store.put_delivery_state(DIGEST, stored(1), vector_of(1)),
            lambda: store.final_vector(DIGEST),
            lambda: store.erase(DIGEST),
        ]
        for call in calls:
            with no_descriptors(), raises("store.open_files"):
                call()
            call()
        here = store.collection(DIGEST)
        assert (here.state, here.delivery_state, here.erased) == (State.SHUFFLING, stored(1), True)
    with no_descriptors(), raises("store.open_files"):
        sqlite(tmp_path)
    sqlite(tmp_path).close()
