"""Columns as whatever frame is installed. Knows nothing of what is in them."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

from .errors import RequestError

#: Which library makes a frame: pandas or polars, `dict` for the columns themselves, `None` for the first that is installed.
FrameKind = Literal["pandas", "polars", "dict"]


def frame(columns: dict[str, Any], kind: FrameKind | None = None) -> Any:
    """Returns columns as a pandas or polars frame, or as they are.

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
    raise RequestError(f"there is no kind of frame {kind!r}; choose from 'pandas', 'polars', 'dict'")


def records(rows: list[dict[str, Any]], kind: FrameKind | None = None) -> Any:
    """Returns rows of the same keys as a frame; a key that a row lacks is None there."""
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
