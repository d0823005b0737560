"""Runs a program under a filter of system calls: `python -m tests.support.confine FILTER PROGRAM`.

FILTER is a JSON map: `allow` (every other call fails with EPERM) or `deny` (every other call works), and
`no_exec_memory` for MemoryDenyWriteExecute.
"""

import ctypes
import ctypes.util
import errno
import json
import os
import sys
from collections.abc import Iterable

LIBRARY = ctypes.util.find_library("seccomp")
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
PR_SET_NO_NEW_PRIVS, PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 38, 65, 1


def filter_calls(names: Iterable[str], action: int, otherwise: int) -> None:
    """Load a filter into this process; its children inherit it."""
    seccomp = ctypes.CDLL(LIBRARY)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(otherwise))
    for name in names:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # negative: a call of some other architecture
            seccomp.seccomp_rule_add(context, action, number, 0)
    if seccomp.seccomp_load(context):
        raise OSError("the kernel takes no filter of system calls")


def main(limits: str, program: list[str]) -> None:
    wanted = json.loads(limits)
    libc = ctypes.CDLL(None)
    if wanted.get("no_exec_memory"):
        libc.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)  # Linux 6.3; an older one allows it
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if "allow" in wanted:
        filter_calls(wanted["allow"], ALLOW, REFUSE)
    else:
        filter_calls(wanted["deny"], REFUSE, ALLOW)
    os.execvp(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
