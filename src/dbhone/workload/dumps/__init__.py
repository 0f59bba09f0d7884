"""Drawer of dumps: one file for each protocol of the servers that they come from."""
