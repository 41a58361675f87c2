"""The tables and figures of the thesis' chapter 9 that we claim to reproduce, one file and one command each.

    python -m experiments.table_9_2 --quick     # the same parameters on few users, in seconds
    python -m experiments.table_9_2 --json      # in full; also writes experiments/results/table_9_2.json and .svg
    python -m experiments.page                  # docs/reproduction.md from those files

May use `peos` and nothing else of ours; nothing uses it.
"""
