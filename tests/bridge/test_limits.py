"""Work that takes too long is stopped, and nothing else is."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable

import pytest

from pallas_magic.bridge.limits import TimeLimitReached, time_limit


class Thing:
    """Something that can be referred to weakly."""


def forever() -> None:
    for _ in itertools.count():
        pass


def limited(work: Callable[[], None], seconds: float = 0.05) -> bool:
    """Whether ``work`` was stopped."""
    try:
        with time_limit(seconds):
            work()
    except TimeLimitReached:
        return True
    return False


def test_work_that_takes_too_long_is_stopped() -> None:
    assert limited(forever)


def test_work_within_the_limit_is_not() -> None:
    before = set(threading.enumerate())
    assert not limited(lambda: None, 60.0)
    for thread in set(threading.enumerate()) - before:
        thread.join(5.0)
        assert not thread.is_alive()


def test_an_error_of_the_work_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        limited(lambda: [1 / 0].clear(), 60.0)


def test_a_limit_that_is_lost_arrives_all_the_same() -> None:
    def work() -> None:
        try:
            forever()
        except TimeLimitReached:
            forever()

    assert limited(work)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_reached_in_a_weak_reference_s_callback_arrives_after_it() -> None:
    def work() -> None:
        thing = Thing()
        reference = weakref.ref(thing, lambda _: forever())
        del thing
        assert reference() is None
        forever()

    assert limited(work)


def test_an_inner_limit_leaves_an_outer_one_in_force() -> None:
    inner: list[bool] = []

    def work() -> None:
        inner.append(limited(forever))
        forever()

    assert limited(work, 0.3)
    assert inner == [True]


def test_limits_reached_while_blocks_are_left_stop_nothing_later() -> None:
    for _ in range(300):
        limited(lambda: None, 0.0)
    assert not limited(lambda: [*range(100_000)].clear(), 60.0)
