"""Recovery for Mosaic GPU."""
