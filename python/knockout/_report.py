"""Reports: the document of `--json` as a dictionary, and its page as text, Markdown or HTML. Independent of their contents."""

from __future__ import annotations

import html as _html
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from . import _knockout
from ._frames import FrameKind, flat, records
from .errors import RequestError

__all__ = ["Report", "Reported", "scalars"]


class Rendered(Protocol):
    """A page that renders itself."""

    def text(self) -> str: ...
    def html(self) -> str: ...


class Reported:
    """Base of everything that has a page. A notebook shows it as HTML, `print` as text."""

    def _page(self) -> Rendered:
        raise NotImplementedError

    def text(self) -> str:
        """Returns the text that the program prints."""
        return self._page().text()

    def html(self) -> str:
        """Returns one self-contained HTML page."""
        return self._page().html()

    def markdown(self) -> str:
        """Returns the page as Markdown."""
        page = self._page()
        if not isinstance(page, _knockout.Page):
            raise RequestError("the page of a trace has no Markdown; use text() or html()")
        return page.markdown()

    def report(self, path: str | PathLike[str]) -> Path:
        """Writes the page to a file: HTML, or Markdown or text if its name ends in `.md` or `.txt`."""
        target = Path(path)
        render = {".md": self.markdown, ".txt": self.text}.get(target.suffix, self.html)
        target.write_text(render(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        return framed(self.html())


def framed(page: str) -> str:
    """Returns a page inside of a frame, so that the styles of the page and of the notebook do not mix."""
    return f'<iframe srcdoc="{_html.escape(page, quote=True)}" style="width:100%;height:640px;border:0"></iframe>'


class Report(dict[str, Any], Reported):
    """The document of a command's `--json`, as a dictionary, with the page of the command.

    >>> import knockout
    >>> summary = knockout.Dataset(tiny).summary()
    >>> summary["genes"], "physical" in summary.text()
    (200, True)
    """

    def __init__(self, page: _knockout.Page) -> None:
        super().__init__(page.document())
        self._rendered = page

    def _page(self) -> _knockout.Page:
        return self._rendered

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the document alone."""
        return (dict, (dict(self),))

    def frame(self, key: str, kind: FrameKind | None = None) -> Any:
        """Returns a list of the document as a frame; nested values have dotted names, nested lists are left out."""
        rows = self.get(key)
        if not isinstance(rows, list):
            lists = [name for name, value in self.items() if isinstance(value, list)]
            raise RequestError(f"the document has no list {key!r}; choose from {', '.join(lists) or 'none'}")
        return records([scalars(row) for row in rows], kind)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"

    def __str__(self) -> str:
        return self.text()


def scalars(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the leaves of a row by dotted names, without lists."""
    return {key: value for key, value in flat(row).items() if not isinstance(value, list)}
