"""What the rules of missing operations share: what was called, and code that does the same."""
