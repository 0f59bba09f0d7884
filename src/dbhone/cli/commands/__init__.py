"""Drawer of commands: one file for each."""
