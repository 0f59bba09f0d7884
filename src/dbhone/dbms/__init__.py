"""Drawer of database systems: one file for each, pure data and pure functions."""
