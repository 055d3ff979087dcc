"""``python -m tallytree``, and the command ``tallytree``: a process for one command."""

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from tallytree.cli.main import main


def run() -> NoReturn:
    """Run the command line, and end the process as soon as all is written.

    To take modules and kernels apart when Python ends, and to look for garbage among them while they are
    loaded, takes a quarter of the time of a small release; the system takes the memory back at once.
    """
    gc.set_threshold(50_000, 20, 100)
    code: object = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # told already, or closed
            if stream is not None:
                stream.flush()
    atexit._run_exitfuncs()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    run()
