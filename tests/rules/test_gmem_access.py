"""How releases before 0.12 tell PM719: of the store, not of the read."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from tests.rules.cases import check_code, messages

CODE = """\
import jax
import jax.numpy as jnp
from jax.experimental.pallas import mosaic_gpu as plgpu

TILES = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
OUT = jax.ShapeDtypeStruct((128, 128), jnp.float16)


def through_tiles(x_gmem, o_gmem, x_smem):
    x_smem[...] = x_gmem[...]
    o_gmem[...] = x_smem[...]


fn = plgpu.kernel(
    through_tiles,
    out_type=OUT,
    scratch_types=[plgpu.SMEM((128, 128), jnp.float16, transforms=TILES)],
)
args = [OUT]
"""
STORED = "`x_smem` is in tiles; what is stored was not read from GMEM in their order"
READ = "`x_gmem` is read from GMEM in too small pieces"


@pytest.mark.skipif(jax.__version_info__ >= (0, 12), reason="told of the read since JAX 0.12")
def test_earlier_releases_are_told_and_mended(tmp_path: Path) -> None:
    report, _ = check_code(CODE, tmp_path / "cell.py", "gpu:h100")
    said = STORED if jax.__version_info__ < (0, 11) else READ
    assert messages(report).startswith(f"error[PM719] through_tiles: {said}\n")
    (fix,) = report.fixes()
    assert (fix.applicability, fix.title) == ("safe", "copy with the TMA unit, and wait for it")
