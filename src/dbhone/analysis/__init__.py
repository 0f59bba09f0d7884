"""Samples in, effects and verdicts out. Pure: no process, no file, no database."""
