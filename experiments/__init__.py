"""The tables and figures of the thesis that we claim to reproduce: of chapter 9 a file and a command each, of others
one for the chapter.

    python -m experiments.table_9_2 --quick     # the same parameters on few users, in seconds
    python -m experiments.table_9_2 --json      # in full; also writes experiments/results/table_9_2.json and .svg
    python -m experiments.chapter_8 figure_8_4  # one of its figures, or all
    python -m experiments.page                  # docs/reproduction.md from those files

May use `peos` and nothing else of ours; nothing uses it.
"""

import os

# Sums in one order whatever the machine, and no two threads that wait for one another over small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
