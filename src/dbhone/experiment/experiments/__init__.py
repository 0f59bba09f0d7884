"""Drawer of experiments that ship."""
