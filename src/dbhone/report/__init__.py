"""One view model of a run, and many formats of it."""
