"""Settings in the form `key=value` of the command line. Independent of the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import RequestError


def keys_of(settings: Mapping[str, Any] | None, **named: Any) -> list[str]:
    """Returns settings as `key=value`; `None` means not set.

    >>> keys_of({"optimiser.learning_rate": 3e-3, "model": {"layers": 2}}, epochs=2, seed=None)
    ['epochs=2', 'optimiser.learning_rate=0.003', 'model.layers=2']
    """
    keys = [f"{name}={_text(value)}" for name, value in named.items() if value is not None]
    _extend(keys, "", settings or {})
    return keys


def _extend(keys: list[str], prefix: str, settings: Mapping[str, Any]) -> None:
    if not isinstance(settings, Mapping):
        raise RequestError(f"settings must be a mapping of keys to values, not {type(settings).__name__}")
    for key, value in settings.items():
        if not isinstance(key, str):
            raise RequestError(f"the key {key!r} is not a string")
        if isinstance(value, Mapping):
            _extend(keys, f"{prefix}{key}.", value)
        else:
            keys.append(f"{prefix}{key}={_text(value)}")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return str(value)


def _quoted(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_quoted(item)}" for key, item in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else _text(value)
