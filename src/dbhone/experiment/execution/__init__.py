"""Walks the plan: makes builds, verifies them, measures them, and keeps what was found."""
