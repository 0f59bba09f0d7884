"""Drawer of source kinds: one file for each way to get a tree."""
