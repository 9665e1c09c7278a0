"""What the rules on specs, grids and the kernel's signature share."""
