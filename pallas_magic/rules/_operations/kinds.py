"""Which of the rules of missing operations a failure is for."""

from __future__ import annotations

from pallas_magic.failure import Failure

MISSING = "Unimplemented primitive in Pallas"
GATHER = "Only take_along_axis-like gathers supported"
REDUCE_INDEX = "Unsupported combination of input dtype"
ONLY_FLOAT = "Only float32 is supported"
SELECT = "select_n only supported with <= 2 arguments"
STRIDED = "'vector.extract_strided_slice' op expected strides"
FLOAT_COUNT = "'tpu.iota' op result #0 must be vector of integer"
WIDTHS = "Changing bitwidths not supported"
TOP_K = "is_stable=True is not supported in Pallas top_k"

_PRODUCTS = "jax.pallas.mosaic.lowering._dot_general_lowering_rule"
_SCAN_ENDS = ("extensive argument(s) is not supported", "extensive output(s) is not supported")
# What these do is the one operation that they are named after.
_PLAIN = ("take", "argmax", "argmin", "top_k", "dynamic_index_in_dim")


def is_gather(failure: Failure) -> bool:
    return failure.text.startswith(GATHER) and not is_part(failure)


def is_scan(failure: Failure) -> bool:
    return _scans(failure) and not is_part(failure)


def is_limit(failure: Failure) -> bool:
    if is_strided(failure) or is_float_count(failure) or is_inner_product(failure):
        return True
    return _is_limited(failure) and not is_part(failure)


def is_strided(failure: Failure) -> bool:
    """Whether a value is taken apart in steps."""
    return failure.primitive == "slice" and STRIDED in failure.text


def is_float_count(failure: Failure) -> bool:
    return failure.primitive == "iota" and FLOAT_COUNT in failure.text


def is_inner_product(failure: Failure) -> bool:
    """Whether JAX's assertion that a product is one of matrices failed: it has no text."""
    by_jax = failure.raised_in == _PRODUCTS and failure.error_type == "AssertionError"
    inputs = failure.operation.inputs
    return by_jax and len(inputs) == 2 and all(len(one.shape) == 1 for one in inputs)


def is_missing(failure: Failure) -> bool:
    """Whether a whole function is missing, or a part of what one of JAX's functions does."""
    limited = failure.text.startswith(GATHER) or _scans(failure) or _is_limited(failure)
    return failure.text.startswith(MISSING) or (limited and is_part(failure))


def is_part(failure: Failure) -> bool:
    """Whether the user called a function of JAX that consists of this and of more."""
    within = failure.operation.within
    return bool(within) and within not in _PLAIN


def _scans(failure: Failure) -> bool:
    text = failure.text.strip().rstrip(".")
    if failure.primitive != "scan":
        return False
    # JAX refuses to go backwards without a word.
    backwards = not text and failure.operation.parameter("reverse") is True
    has_arrays = text.startswith("Scan with ") and any(end in text for end in _SCAN_ENDS)
    return backwards or has_arrays or text.startswith(MISSING)


def _is_limited(failure: Failure) -> bool:
    if failure.primitive in ("argmax", "argmin") and failure.text.startswith(ONLY_FLOAT):
        return True
    missing_top_k = failure.primitive == "top_k" and failure.text.startswith(MISSING)
    return missing_top_k or failure.text.startswith((REDUCE_INDEX, SELECT, TOP_K, WIDTHS))
