"""Exceptions of the package.

The type tells what to change; the messages are those of the command line.

>>> import knockout
>>> try:
...     knockout.Dataset("no-such-folder")
... except knockout.RequestError as error:
...     print(isinstance(error, ValueError))
True
"""

__all__ = ["ClosedError", "DataError", "DivergedError", "FailureError", "KnockoutError", "RequestError"]


class KnockoutError(Exception):
    """Base class of all errors of knockout."""


class RequestError(KnockoutError, ValueError):
    """The request cannot be carried out: an unknown name, a missing file, an output that exists."""


class ClosedError(RequestError):
    """The dataset was closed."""


class DataError(KnockoutError):
    """An input is damaged or not what it claims to be."""


class DivergedError(KnockoutError, ArithmeticError):
    """Training diverged: a loss or a gradient is not finite."""


class FailureError(KnockoutError, RuntimeError):
    """The request is valid, but it failed: a disk is full, or there is a bug."""
