"""What is read of ptxas's own words."""

from __future__ import annotations

from pallas_magic.bridge.ptxas import ptxas_numbers

SAID = """\
ptxas warning : Registers are spilled to local memory in function 'heavy', 664 bytes spill stores, \
702 bytes spill loads
ptxas info    : Compiling entry function 'heavy' for 'sm_90a'
    279 bytes stack frame, 664 bytes spill stores, 702 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 279 bytes cumulative stack size
ptxas info    : Compiling entry function 'light' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
"""


def test_the_largest_numbers_are_those_of_the_kernel() -> None:
    assert ptxas_numbers(SAID) == {"registers": 64, "spill_stores": 664, "spill_loads": 702}


def test_where_nothing_was_said_there_are_no_numbers() -> None:
    assert ptxas_numbers("ptxas info    : 0 bytes gmem") == {}
