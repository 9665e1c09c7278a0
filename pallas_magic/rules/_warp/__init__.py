"""What the rules of warp-level regions share: one diagnosis a statement, and the rewrites."""
