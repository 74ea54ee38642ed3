"""Toy problems, bundled tables and reading a user's own: everything ends up as a `Table`."""

from .arrays import as_table
from .catalog import DATASETS, DatasetFamily, load_dataset
from .column import Column
from .encoder import Encoder
from .reading import read_table
from .split import held_out_rows
from .table import Table
from .toys import blobs, checkerboard, concentric, moons, plane, sine, spirals, xor

__all__ = [
    "DATASETS",
    "Column",
    "DatasetFamily",
    "Encoder",
    "Table",
    "as_table",
    "blobs",
    "checkerboard",
    "concentric",
    "held_out_rows",
    "load_dataset",
    "moons",
    "plane",
    "read_table",
    "sine",
    "spirals",
    "xor",
]
