"""The only place that says "proved": witnesses and lower bounds, checked afresh.

Nothing here shares code with the searches that find them: networks are run, losses computed and
bounds proved by this package's own algorithms. What is strange is refused.
"""

from .certificate import CERTIFICATE_FIELDS, CERTIFICATE_KINDS, check_certificate
from .formulas import ACTIVATIONS, LOSSES
from .result import CheckResult
from .witness import AGREEMENT, CLAIM_VERSION, FIELDS, LEAST_SHARE, NUMBERS, check_witness

__all__ = [
    "ACTIVATIONS",
    "AGREEMENT",
    "CERTIFICATE_FIELDS",
    "CERTIFICATE_KINDS",
    "CLAIM_VERSION",
    "FIELDS",
    "LEAST_SHARE",
    "LOSSES",
    "NUMBERS",
    "CheckResult",
    "check_certificate",
    "check_witness",
]
