"""What kind of file a path leads to: a text table, Parquet, or something that is no table."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._errors import InvalidFile
from .rawtable import RawTable, check_size
from .textfile import read_text_table

MAGIC = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet (xlsx, ods)",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document (xls, doc)",
    b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstandard",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array file",
    b"ARROW1": "an Arrow (Feather) file",
    b"\x7fELF": "a program",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
HEAD = 1 << 20


def read_file(source: str | os.PathLike) -> RawTable:
    """The table in the CSV or Parquet file at that path; what it is shows in its first bytes."""
    path = Path(source)
    origin = str(path) if str(path).isprintable() else repr(str(path))
    _check_path(path, origin)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
        if head.startswith(b"PAR1"):
            return _read_parquet(path, origin)
        _check_is_text_table(head, origin)
        return read_text_table(path, origin)
    except OSError as error:
        raise InvalidFile(
            f"{origin} cannot be read ({error.strerror or error}); check the path and its "
            "permissions."
        ) from None


def _check_path(path: Path, origin: str) -> None:
    try:
        exists, is_file, is_folder = path.exists(), path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:
        raise InvalidFile(
            f"{origin[:80]} is no usable path ({error}); give the path of a CSV or Parquet file."
        ) from None
    if not exists:
        raise InvalidFile(f"there is no file {origin}; give the path of a CSV or Parquet file.")
    if is_folder:
        raise InvalidFile(f"{origin} is a folder; give the path of a CSV or Parquet file in it.")
    if not is_file:
        raise InvalidFile(
            f"{origin} is no regular file; give the path of a CSV or Parquet file on disk."
        )


def _check_is_text_table(head: bytes, origin: str) -> None:
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    kind = kind or _kind_of_text(head)
    if kind is not None:
        raise InvalidFile(
            f"{origin} is {kind}, and no table; export the data as a CSV file in UTF-8 or as "
            "Parquet."
        )
    if len(head) == HEAD and b"\n" not in head and b"\r" not in head:
        raise InvalidFile(
            f"{origin} has no line end in its first {HEAD:,} bytes; a table needs a line per row."
        )


def _kind_of_text(head: bytes) -> str | None:
    if head.startswith(UTF_16):
        return "text in UTF-16"
    if b"\0" in head:
        return "binary"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:2]
    if start.startswith(b"<"):
        return "HTML or XML"
    if start.startswith((b"{", b"[{", b"[[")) or (start.startswith(b"[") and start[1:].isspace()):
        return "JSON"
    return None


def _read_parquet(path: Path, origin: str) -> RawTable:
    import polars as pl

    from .frames import read_frame

    failures = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    try:
        with _silent_stderr():
            n_rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            check_size(origin, n_rows, len(pl.read_parquet_schema(path)))
            return read_frame(pl.read_parquet(path, glob=False), origin)
    except failures as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        reason = "".join(c for c in reason if c.isprintable())
        raise InvalidFile(
            f"{origin} is a damaged Parquet file ({reason}); write it again or use CSV."
        ) from None


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Keep what native code writes to stderr off the terminal.

    On a damaged file polars' reader prints a trace of its own there before it raises.
    """
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
