"""From support counts to frequencies with error bars. Pure arithmetic; knows of mechanisms only their p, q and u."""
