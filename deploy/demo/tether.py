"""`python -I -S tether.py PROGRAM …` runs PROGRAM with default signals and ends it when its parent ends.

The background job of a shell ignores Ctrl-C, and so does everything it starts. A parent killed by SIGKILL
cannot end its children. Linux keeps both settings over exec, so PROGRAM need not be changed.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(program: list[str]) -> None:
    """Replace this process by the program."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        os.execvp(program[0], program)  # noqa: S606 - exec is what it is for
    except OSError as error:
        sys.exit(f"{program[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
