"""What can be said of an error that no rule knows."""
