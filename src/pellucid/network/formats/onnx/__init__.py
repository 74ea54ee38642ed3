"""ONNX: networks from and to the files of other libraries, nothing of them run."""

from .reading import read

__all__ = ["read"]
