"""The steps that an experiment takes, what they cost, and what they need here."""
