"""Coded computing for general functions."""
