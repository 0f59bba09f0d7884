"""Drawer of workload drivers: one file for each program that drives a subject."""
