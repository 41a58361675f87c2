"""Runs a Python module that knows nothing of us, so that it ends with the process that started it.

python -m tests.bound MODULE ARGUMENTS...
"""

import runpy
import sys

from peos.ending import end_with_starter

if __name__ == "__main__":
    end_with_starter()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
