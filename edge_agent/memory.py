"""The memory of this process: what nobody uses any more goes back to the kernel."""

import ctypes


def give_back() -> None:
    """Return the free pages of the heap; only glibc has a function for this.

    Windows that close together leave holes between what stays: 2 MB with 200 sensors.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
