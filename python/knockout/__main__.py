"""The program `knockout`, which an installation of the package brings as a command; `python -m knockout` is the same."""

from __future__ import annotations

import signal
import sys

from ._knockout import run_program

__all__ = ["main"]


def main() -> None:
    """Runs the program with the arguments of this process and exits with its code."""
    # The program handles Ctrl-C itself: long commands save and end with their own code.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_program(sys.argv[1:]))


if __name__ == "__main__":
    main()
