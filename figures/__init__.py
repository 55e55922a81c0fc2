"""Draws what the results say; computes no scheme."""
