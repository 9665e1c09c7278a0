"""What the rules on refs, values and control flow in a kernel share."""
