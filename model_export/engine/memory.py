"""How a process of tasks keeps memory between them."""

import ctypes
import sys
from functools import cache

# From malloc.h of glibc.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_KEPT = 32 << 20  # bytes of one array; glibc takes no more
KEPT = 128 << 20  # bytes in all
HEAP = 64 << 20  # bytes; glibc's heap of a thread, which is otherwise released whenever it is empty


@cache
def keep_freed_memory() -> None:
    """Keep freed memory for the next array instead of returning it to the system.

    A fit makes and frees thousands of arrays of some 100 kB. By default glibc returns many of them, and the
    workers of Dask are started with MALLOC_TRIM_THRESHOLD_=65536, so that it returns nearly all. The system
    must then clear and map each page again. Arrays above 32 MB are returned as before.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # not in musl
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        libc.mallopt(M_TRIM_THRESHOLD, KEPT)
        libc.mallopt(M_TOP_PAD, HEAP)
