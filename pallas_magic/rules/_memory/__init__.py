"""What the memory-space rules share: reading accesses, moving refs, rewriting stores."""
