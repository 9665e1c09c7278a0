"""What the rules of Mosaic GPU kernels share: calls of its API, its scratch, its wording."""
