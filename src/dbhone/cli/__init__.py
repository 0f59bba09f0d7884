"""The command line: reads words, calls the stages, prints. It never computes."""
