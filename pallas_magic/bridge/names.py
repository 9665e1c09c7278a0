"""Under which names a kernel's own namespace holds JAX's modules."""

from __future__ import annotations

from types import ModuleType

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.failures import kernel_function


def module_names(call: Call) -> tuple[str, dict[str, str]]:
    """The file name of the kernel of ``call``, and name to module in its globals.

    Only JAX's modules are told. Both are empty where the kernel was not seen.
    """
    function = kernel_function(call)
    code = getattr(function, "__code__", None)
    if code is None:
        return "", {}
    found = {
        name: value.__name__
        for name, value in function.__globals__.items()
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "jax"
    }
    return code.co_filename, found
