"""Exceptions: whose fault an error is.

The messages are those of the command line; the type says what to change.

>>> import knockout
>>> try:
...     knockout.Dataset("no-such-folder")
... except knockout.RequestError as error:
...     print(isinstance(error, ValueError))
True
"""

__all__ = ["ClosedError", "DataError", "DivergedError", "FailureError", "KnockoutError", "RequestError"]


class KnockoutError(Exception):
    """Anything that knockout reports."""


class RequestError(KnockoutError, ValueError):
    """The request cannot be carried out: an unknown name, a missing file, an output that exists."""


class ClosedError(RequestError):
    """The dataset was closed."""


class DataError(KnockoutError):
    """An input is damaged or not what it claims to be."""


class DivergedError(KnockoutError, ArithmeticError):
    """Training left the range of numbers: a loss or a gradient is not finite."""


class FailureError(KnockoutError, RuntimeError):
    """Nothing to change in the request: a disk is full, or there is a bug."""
