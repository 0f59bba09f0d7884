"""Formats of servers' logs: one file each."""
