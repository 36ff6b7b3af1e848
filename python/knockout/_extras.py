"""Packages that only parts of this one need."""

import importlib.util


def require(extra: str, *packages: str) -> None:
    """Raises `ModuleNotFoundError` with the command that installs an extra, if one of its packages is missing.

    >>> require("scipy", "numpy", "no_such_package")
    Traceback (most recent call last):
    ModuleNotFoundError: the package no_such_package is not installed: pip install "knockout[scipy]"
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f'the package {package} is not installed: pip install "knockout[{extra}]"', name=package)
