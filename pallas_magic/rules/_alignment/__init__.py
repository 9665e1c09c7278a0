"""Indices and copies that must begin at tiles, and ways round that."""
