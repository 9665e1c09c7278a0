"""The places where Pallas raises are read as they are written, and kept apart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from pallas_magic.rules._unrecognised.kinds import kind_of, matter_of
from tests.raise_sites.known import all_known
from tests.raise_sites.sites import BACK_ENDS, Site, read_sites

SOURCE = """
class Mesh:
    def check(self, size):
        if size:
            raise ValueError(f"Mesh of {size}" + " is too large: %s" % size)
        raise NotImplementedError

def lower():
    raise errors.LoweringError("no {}".format(1))
"""


def test_sites_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "_src" / "pallas" / "mosaic"
    folder.mkdir(parents=True)
    (folder / "lowering.py").write_text(SOURCE)
    (tmp_path / "_src" / "api.py").write_text(SOURCE)
    module = "jax._src.pallas.mosaic.lowering"
    assert list(read_sites(tmp_path)) == [
        Site("tpu", module, "Mesh.check", "ValueError", "Mesh of … is too large: …"),
        Site("tpu", module, "lower", "LoweringError", "no …"),
    ]


def test_a_rule_claims_its_own_sites() -> None:
    sites = list(read_sites(Path(jax.__file__).parent))
    assert {site.back_end for site in sites} == set(BACK_ENDS)
    store = next(site for site in sites if "Can only store scalars to SMEM" in site.text)
    assert store.raised_in == "jax.pallas.mosaic.lowering._masked_swap_lowering_rule"
    claimed = [one.module.rsplit(".", 1)[-1] for one in all_known() if one.claims(store)]
    assert claimed == ["smem_vector_store"]


def test_no_rule_claims_what_it_does_not_know() -> None:
    unknown = Site("tpu", "jax._src.pallas.core", "f", "ValueError", "A … of no rule's.")
    assert not any(one.claims(unknown) for one in all_known())


def test_a_value_in_a_message_fits_what_a_rule_expects() -> None:
    site = Site("tpu", "jax._src.pallas.core", "f", "ValueError", "Axis … of a grid of … axes")
    assert site.fits(re.compile(r"Axis \d+ of a grid"))
    assert not site.fits(re.compile(r"axis \d+"))


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        ("NotImplementedError", "", "unsupported"),
        ("ValueError", "Only Blocked indexing mode is supported", "unsupported"),
        ("ValueError", "Mosaic GPU doesn't support this", "unsupported"),
        ("ValueError", "Expected source shape to be (64,)", "yours"),
        ("TypeError", "arrival_count must be an int", "yours"),
        ("AssertionError", "", "fault"),
        ("ValueError", "Pallas encountered an internal verification error.", "fault"),
        (
            "VerificationError",
            "Pallas encountered an internal verification error. Error details: op Not implemented",
            "unsupported",
        ),
    ],
)
def test_kinds(error: str, text: str, kind: str) -> None:
    assert kind_of(error, text) == kind


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Unimplemented: x. Please file an issue at https://a.b/new.", "Unimplemented: x."),
        (
            "Broken. Please file a bug at https://a.b/new. Details:\nfile a.py",
            "Broken. Details:\nfile a.py",
        ),
        (
            (
                "Pallas encountered an internal verification error. Please file a bug at "
                "https://a.b/new. Error details: op is\nwrong"
            ),
            "op is\nwrong",
        ),
        ("Please file the edges of the block", "Please file the edges of the block"),
    ],
)
def test_requests_are_left_out(text: str, rest: str) -> None:
    assert matter_of(text) == rest


def test_the_table_is_printed() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.raise_sites",
        "--against",
        str(Path(jax.__file__).parent),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"JAX {jax.__version__}\nback end ")
    assert shown.endswith("\n0 messages are new, 0 are gone\n")
