"""Drawer of published results: one file for each publication."""
