"""Tables of a few attributes from hidden tables of several: designs, consistency, maximum entropy, and the task."""
