"""Named configs that ship with hone: one TOML file each."""
