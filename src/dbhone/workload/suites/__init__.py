"""Drawer of suites: one file for each list of steps with their groups."""
