"""A chosen build as something to deploy, with its proof."""
