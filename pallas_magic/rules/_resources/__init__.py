"""On-chip memory in words."""
