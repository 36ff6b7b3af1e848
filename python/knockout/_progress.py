"""Progress of long calls: a line of `logging` for every epoch, and a bar of tqdm where a notebook runs."""

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import Any

__all__ = ["Progress", "log"]

#: The logger of the package. `logging.basicConfig(level="INFO")` shows its lines.
log = logging.getLogger("knockout")
log.addHandler(logging.NullHandler())


class Progress:
    """The progress of a run, epoch by epoch.

    `wanted` is True for a bar, False for none; None means a bar if a notebook runs and tqdm is installed.
    """

    def __init__(self, name: str, total: int | None, wanted: bool | None) -> None:
        self.name = name
        self._bar: Any = None
        has_tqdm = importlib.util.find_spec("tqdm") is not None
        if has_tqdm and (_in_notebook() if wanted is None else wanted):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc=name, unit="epoch")

    def epoch(self, line: dict[str, Any]) -> None:
        """Shows a line of `metrics.jsonl`."""
        pearson = (line.get("val") or {}).get("pearson")
        shown = "undefined" if pearson is None else f"{pearson:.4f}"
        log.info("%s: epoch %d, train loss %.4f, validation Pearson %s", self.name, line["epoch"] + 1, line["train_loss"], shown)
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{line['train_loss']:.4f}", pearson=shown, refresh=False)
            self._bar.update(1)

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()


def _in_notebook() -> bool:
    """Whether the cells of a notebook run: the kernel is loaded and its shell is a kernel's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
