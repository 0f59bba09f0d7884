"""An experiment file becomes a plan, and a plan becomes a run."""
