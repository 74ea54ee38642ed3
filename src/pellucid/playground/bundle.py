"""The page's modules in an order and a form for a place without addresses of their own: a notebook.

There a module is loaded from memory. Its imports of other modules stand as "pellucid:PATH", which
the widget replaces by where it has put that module, and `import.meta.url` is an address below
`BASE`, whose files the widget hands out.
"""

import json
import posixpath
import re
from collections.abc import Mapping

BASE = "https://pellucid.invalid/"
PREFIX = "pellucid:"
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*$", re.S | re.M)
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*|\bimport\()(["'])(\.{1,2}/[^"']+)\2""")


def modules(files: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """The modules of the page with their paths, each behind those that it imports."""
    texts = {path: files[path].decode() for path in files if path.endswith(".js")}
    needs = {path: set(_imports(path, text).values()) for path, text in texts.items()}
    order: list[str] = []
    open_: list[str] = []

    def visit(path: str) -> None:
        if path in order:
            return
        if path in open_:
            raise ValueError(f"modules import each other in a circle: {' '.join(open_)} {path}")
        open_.append(path)
        for needed in sorted(needs[path]):
            visit(needed)
        order.append(open_.pop())

    for path in sorted(texts):
        visit(path)
    return [(path, _rewritten(path, texts[path])) for path in order]


def _imports(path: str, text: str) -> dict[str, str]:
    """What a module imports: as it writes it, and as the path of a file."""
    bare = _COMMENT.sub("", text)  # types in comments are no imports
    return {found[3]: _target(path, found[3]) for found in _IMPORT.finditer(bare)}


def _target(path: str, specifier: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))


def _rewritten(path: str, text: str) -> str:
    def put(found: re.Match[str]) -> str:
        return f'{found[1]}"{PREFIX}{_target(path, found[3])}"'

    bare = _COMMENT.sub("", text)
    return _IMPORT.sub(put, bare).replace("import.meta.url", json.dumps(BASE + path))
