"""Whether there is memory for what was asked, before it is started."""

import os

from letcc.exceptions import InvalidInput

_GIB = 2**30


def check_memory(needed: int, jobs: int) -> None:
    """Refuse work that does not fit.

    Parameters
    ----------
    needed : int
        Bytes of the largest cell.
    jobs : int
        How many are worked on at once.

    Raises
    ------
    InvalidInput
        If it is more than is free; the message says how much.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed * jobs > free:
        raise InvalidInput(
            f"the largest cells need about {needed * jobs / _GIB:.3g} GiB with {jobs} jobs, but {free / _GIB:.3g} GiB "
            "are free: lower --max-n or --jobs"
        )
