"""Work that takes too long is stopped, and nothing else is."""

from __future__ import annotations

import itertools
import threading
import weakref

import pytest

from pallas_magic.bridge.limits import TimeLimitReached, time_limit


class Thing:
    """Something that can be referred to weakly."""


def forever() -> None:
    for _ in itertools.count():
        pass


def test_work_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(TimeLimitReached), time_limit(0.05):
        forever()


def test_work_within_the_limit_is_not() -> None:
    before = threading.active_count()
    with time_limit(60.0):
        pass
    assert threading.active_count() <= before + 1


def test_a_limit_that_is_lost_in_a_callback_arrives_all_the_same() -> None:
    with pytest.raises(TimeLimitReached), time_limit(0.05):
        try:
            forever()
        except TimeLimitReached:  # as Python does in a weak reference's callback
            forever()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_reached_in_a_weak_reference_s_callback_arrives_after_it() -> None:
    with pytest.raises(TimeLimitReached), time_limit(0.05):
        thing = Thing()
        reference = weakref.ref(thing, lambda _: forever())
        del thing
        forever()
    assert reference() is None


def test_an_inner_limit_leaves_an_outer_one_in_force() -> None:
    with pytest.raises(TimeLimitReached), time_limit(0.3):
        with pytest.raises(TimeLimitReached), time_limit(0.05):
            forever()
        forever()
