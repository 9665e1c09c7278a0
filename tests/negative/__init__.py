"""What JAX's own tests expect to be refused, asked in our own few lines."""
