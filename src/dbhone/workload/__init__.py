"""What a subject is asked to do: suites say what, drivers do it."""
