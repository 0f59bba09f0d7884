"""Suites of the outside driver."""
