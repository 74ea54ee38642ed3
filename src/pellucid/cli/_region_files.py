"""The files of `pellucid regions`: checked before the work, written all or none."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import InvalidInput

if TYPE_CHECKING:
    from ..regions import LinearRegions


class Places:
    """The files that are asked for, by option."""

    def __init__(self, paths: dict[str, Path]):
        self.paths = paths

    def check(self, model: str, data: str | None, count: bool) -> None:
        """Refuse a place that cannot be written or that holds another's file, before the work."""
        from ..network.files import replaceable
        from ._files import check_file, check_ours

        if count and self.paths:
            name = next(iter(self.paths))
            raise InvalidInput(f"--count keeps no region that {name} could show; leave one out.")
        taken: dict[Path, str] = {}
        for name, path in self.paths.items():
            ending = f".{name[2:]}"
            if path.suffix.lower() != ending:
                raise InvalidInput(
                    f"{name} is {path.name!r:.80}; it needs a name that ends in {ending}."
                )
            check_file(path, data, name)
            check_file(path, model, name, "model")
            place = replaceable(path)
            if place in taken:
                raise InvalidInput(f"{name}: {path} is the file of {taken[place]}, too.")
            taken[place] = name
            what, is_ours = _OURS[name]
            check_ours(path, is_ours, what, name)

    @property
    def draws(self) -> str | None:
        """The first option that asks for a picture."""
        return next((name for name in ("--png", "--svg") if name in self.paths), None)

    def write(self, found: "LinearRegions", figure: Any) -> list[str]:
        """Write all files, or none; return what to say."""
        from ..network.files import all_or_none
        from ._console import visible_path

        told = [f"written: {visible_path(path)}" for path in self.paths.values()]
        with all_or_none() as write:
            for name, path in self.paths.items():
                write(path, _bytes_of(name, figure, found))
        return told


def _bytes_of(name: str, figure: Any, found: "LinearRegions") -> bytes:
    from ..plot._save import render
    from ..regions import export

    if name == "--json":
        return export.json_bytes(found)
    return export.parquet_bytes(found) if name == "--parquet" else render(figure, name[2:])


# ---- whose a file is


def is_picture(path: Path) -> bool:
    """Tell whether a file is a picture that Pellucid drew."""
    from ..plot._save import MAKER

    with open(path, "rb") as file:
        opening = file.read(4096)
    return opening.startswith((b"\x89PNG", b"<?xml")) and MAKER.encode() in opening


def _is_json(path: Path) -> bool:
    from ..regions.export import FORMAT

    with open(path, "rb") as file:
        return file.read(64).startswith(f'{{"format": "{FORMAT}"'.encode())


def _is_parquet(path: Path) -> bool:
    import polars as pl

    from ..regions.export import FORMAT

    try:
        return FORMAT in pl.read_parquet_metadata(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False


_OURS: dict[str, tuple[str, Callable[[Path], bool]]] = {
    "--png": ("picture", is_picture),
    "--svg": ("picture", is_picture),
    "--json": ("list of regions", _is_json),
    "--parquet": ("table of regions", _is_parquet),
}
