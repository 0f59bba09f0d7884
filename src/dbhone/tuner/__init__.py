"""The search for the best build."""
