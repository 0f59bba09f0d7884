"""Drawer of report formats: one file for each."""
