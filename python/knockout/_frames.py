"""Columns as pandas or polars frames, whichever is installed. Independent of their contents."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

from .errors import RequestError

#: Kind of frame: pandas, polars, or `dict` for the columns themselves. `None` means the first that is installed.
FrameKind = Literal["pandas", "polars", "dict"]


def frame(columns: dict[str, Any], kind: FrameKind | None = None) -> Any:
    """Returns columns as a pandas or polars frame, or unchanged.

    >>> frame({"a": [1, 2]}, "dict")
    {'a': [1, 2]}
    """
    if kind is None:
        installed = [name for name in ("pandas", "polars") if importlib.util.find_spec(name) is not None]
        kind = installed[0] if installed else "dict"  # type: ignore[assignment]
    if kind == "dict":
        return columns
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if kind == "polars":
        import polars

        return polars.DataFrame(columns)
    raise RequestError(f"unknown kind of frame {kind!r}; choose from 'pandas', 'polars', 'dict'")


def records(rows: list[dict[str, Any]], kind: FrameKind | None = None) -> Any:
    """Returns dictionaries as a frame; missing keys become None."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return frame({name: [row.get(name) for row in rows] for name in names}, kind)


def flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested dictionaries by their dotted keys.

    >>> flat({"val": {"pearson": 0.5}, "step": 3})
    {'val.pearson': 0.5, 'step': 3}
    """
    leaves: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            leaves.update(flat(value, f"{prefix}{key}."))
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves
