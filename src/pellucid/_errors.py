"""The exceptions that a user can cause; each says what it got, what it needs, what to do."""


class PellucidError(Exception):
    """Base of every error that a user's input can cause; the command line prints it as one line."""


class InvalidInput(PellucidError, ValueError):
    """An argument has the wrong shape, type or value."""


class InvalidTable(InvalidInput):
    """A table cannot be used as it is: a missing target, a constant column, text among numbers."""


class InvalidFile(PellucidError, ValueError):
    """A file is missing, damaged, or not of a kind that can be read."""


class UnsupportedLayer(PellucidError, ValueError):
    """A network holds a layer that the asked-for computation cannot handle."""


class MissingDependency(PellucidError, ImportError):
    """An optional package is needed and not installed; the message names the extra."""


class PellucidWarning(UserWarning):
    """Something worth knowing that does not stop the work."""
