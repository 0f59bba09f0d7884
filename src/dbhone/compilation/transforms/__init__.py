"""Drawer of build transforms: one file for each thing that can be done to a build."""
