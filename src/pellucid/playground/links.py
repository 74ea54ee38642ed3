"""Links to a state of the page: the part behind "#", wherever the page itself stands."""

from pathlib import Path
from urllib.parse import urlsplit

from .._errors import InvalidInput

SCHEMES = ("http", "https", "file")
LONGEST = 2_000_000
EXAMPLE = "https://example.org/playground/#..."


def is_link(text: str) -> bool:
    """Whether that is a link to a state, and no file or data set."""
    return urlsplit_scheme(text) in SCHEMES or text.startswith("#")


def urlsplit_scheme(text: str) -> str:
    """The scheme of an address; "" where there is none."""
    scheme, colon, rest = text.partition("://")
    return scheme.lower() if colon and rest and scheme.isalpha() else ""


def fragment_of(link: str) -> str:
    """The state in a link: what stands behind "#".

    The page at the address is not asked: a link is its state alone, and opens in any copy of the
    page. `InvalidInput` says what is wrong with a link without a state.
    """
    try:
        fragment = urlsplit(link.strip()).fragment
    except ValueError:
        fragment = ""
    if not fragment:
        raise InvalidInput(
            f"{link!r:.80} has no state behind a '#'; copy the whole link, as in {EXAMPLE}."
        )
    if len(fragment) > LONGEST:
        raise InvalidInput(
            f"the link has {len(fragment):,} characters behind '#', and at most {LONGEST:,} are "
            "taken; save the state as a file in the page."
        )
    if not (fragment.isascii() and fragment.isprintable()) or " " in fragment:
        raise InvalidInput("the link has characters behind '#' that no link of the page has.")
    return fragment


def is_file(text: str) -> bool:
    """Whether there is such a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
