"""A local web page over the store, for reading: nothing can be changed by it."""
