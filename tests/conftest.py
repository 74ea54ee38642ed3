"""Shapes and types of every pellucid function are checked while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("pellucid", "beartype.beartype")
