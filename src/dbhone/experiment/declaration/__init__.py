"""What an experiment file says, and the experiment that it declares."""
