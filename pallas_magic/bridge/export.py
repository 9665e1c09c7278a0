"""What the lowering of a recorded call hands to a compiler in another process."""

from __future__ import annotations

import io

from pallas_magic.bridge.lowering import Lowered


def module_bytes(lowered: Lowered) -> bytes:
    """The lowered module as MLIR bytecode, for a worker of the same JAX.

    Bytecode without a version promise: it is read by the release that wrote it.
    """
    written = io.BytesIO()
    lowered.lowered.compiler_ir("stablehlo").operation.write_bytecode(written)
    return written.getvalue()
