"""Whether a build still answers right."""
