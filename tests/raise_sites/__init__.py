"""The places where Pallas raises, read from JAX's own text, and which rules know them."""
