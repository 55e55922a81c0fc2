"""Reference values from an independent implementation in high-precision arithmetic."""
