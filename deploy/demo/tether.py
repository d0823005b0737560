"""`python -I -S tether.py PROGRAM …` becomes PROGRAM, with default signals and an end when its parent ends.

A shell's background job ignores Ctrl-C, and so does everything it starts; and a parent that dies of SIGKILL
cannot end its children. Linux keeps both settings over exec, so a program need not know of them.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(program: list[str]) -> None:
    """Never returns: this process is the program from here on."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        os.execvp(program[0], program)  # noqa: S606 - exec is what it is for
    except OSError as error:
        sys.exit(f"{program[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
