"""`verify_certificate`: a certificate against a table that was read afresh."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..datasets import Table
from .certificates import read_certificate
from .checker import CheckResult, check_certificate
from .checker.certificate import unpack_mask


def verify_certificate(
    certificate: Mapping[str, Any] | str | os.PathLike[str], table: Table
) -> CheckResult:
    """Accept or refuse a certificate for the rows of a table.

    Parameters
    ----------
    certificate
        The document, or the path of its JSON file.
    table
        The data as `read_table` or `as_table` gives them. Columns that the certificate does not
        use are left out. They are encoded as a diagnosis does it: gaps, levels and scales are
        those of the rows that are not held out.

    Returns
    -------
    CheckResult
        The answer of the checker, which computes the bound again with its own algorithms. A
        document that does not belong to the table is refused.

    Raises
    ------
    InvalidFile
        Where the path leads to no JSON document.
    """
    if isinstance(certificate, str | os.PathLike):
        certificate = read_certificate(certificate)
    try:
        X, y, held_out = _rows(certificate, table)
    except Exception as error:  # a document that describes no such table
        reason = f"the certificate does not fit the table ({type(error).__name__}: {error})"
        return CheckResult(False, reason)
    return check_certificate(certificate, X, y, held_out)


def _rows(certificate: Mapping[str, Any], table: Table) -> tuple[Any, Any, Any]:
    """The table as the diagnosis encoded it: columns, classes and split of the certificate."""
    by_name = {column.name: column for column in table.columns}
    names = certificate["reading"]["columns"]
    missing = [name for name in names if name not in by_name]
    if missing:
        raise LookupError(f"there is no column {missing[0]!r}")
    table = replace(table, columns=tuple(by_name[name] for name in names))
    data = certificate["data"]
    if data["target"] != table.target_name:
        raise LookupError(f"the target is {table.target_name!r}, not {data['target']!r}")
    y = np.asarray(table.y)
    if table.classes is not None:
        order: dict[str, int] = {name: i for i, name in enumerate(data["classes"] or ())}
        y = np.array([order[name] for name in table.classes], dtype=np.int64)[y]
    held_out = unpack_mask(certificate["held_out"], table.n_rows)
    encoder = table.encoder(~held_out, standardize=True)
    return encoder.transform(table, standardize=False), y, held_out
