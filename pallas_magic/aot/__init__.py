"""Compile lowered kernels with the vendors' compilers, each in a process of its own."""
