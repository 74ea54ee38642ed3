"""Pellucid: feedforward networks that you can see through.

Every public name is imported when it is first used, so that `import pellucid` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import constructions as constructions
    from . import datasets as datasets
    from . import estimators as estimators
    from . import plot as plot
    from . import properties as properties
    from . import quiz as quiz
    from . import symmetry as symmetry
    from ._errors import InvalidFile as InvalidFile
    from ._errors import InvalidInput as InvalidInput
    from ._errors import InvalidTable as InvalidTable
    from ._errors import MissingDependency as MissingDependency
    from ._errors import PellucidError as PellucidError
    from ._errors import PellucidWarning as PellucidWarning
    from ._errors import UnsupportedLayer as UnsupportedLayer
    from .diagnosis import Comparison as Comparison
    from .diagnosis import GradientFlow as GradientFlow
    from .diagnosis import Recipe as Recipe
    from .diagnosis import Verdict as Verdict
    from .diagnosis import Watch as Watch
    from .diagnosis import compare as compare
    from .diagnosis import diagnose as diagnose
    from .diagnosis import gradient_flow as gradient_flow
    from .diagnosis import verify_certificate as verify_certificate
    from .diagnosis import watch as watch
    from .estimators import FeedforwardClassifier as FeedforwardClassifier
    from .estimators import FeedforwardRegressor as FeedforwardRegressor
    from .network import Activation as Activation
    from .network import AffineGraph as AffineGraph
    from .network import Network as Network
    from .network import initialize as initialize
    from .network import load as load
    from .network import save as save
    from .properties import Case as Case
    from .properties import Property as Property
    from .properties import PropertyResult as PropertyResult
    from .properties import check_property as check_property
    from .properties import read_vnnlib as read_vnnlib
    from .regions import BettiNumbers as BettiNumbers
    from .regions import Box as Box
    from .regions import DecisionBoundary as DecisionBoundary
    from .regions import Explanation as Explanation
    from .regions import Extremum as Extremum
    from .regions import LinearRegion as LinearRegion
    from .regions import LinearRegions as LinearRegions
    from .regions import LocalRegions as LocalRegions
    from .regions import PiecesAlong as PiecesAlong
    from .regions import Plane as Plane
    from .regions import Polyline as Polyline
    from .regions import RegionsAlong as RegionsAlong
    from .regions import SampledPatterns as SampledPatterns
    from .regions import Segment as Segment
    from .regions import Space as Space
    from .regions import count_along as count_along
    from .regions import explain as explain
    from .regions import function_distance as function_distance
    from .regions import iter_linear_regions as iter_linear_regions
    from .regions import linear_regions as linear_regions
    from .regions import linear_regions_along as linear_regions_along
    from .regions import local_regions as local_regions
    from .regions import sample_patterns as sample_patterns
    from .report import write_report as write_report
    from .training import Grid as Grid
    from .training import History as History
    from .training import Run as Run
    from .training import train as train
    from .training import train_many as train_many
    from .walkthrough import WorkedPass as WorkedPass
    from .walkthrough import WorkedStep as WorkedStep
    from .walkthrough import worked_pass as worked_pass
    from .walkthrough import worked_step as worked_step

_PACKAGES = (
    *("constructions", "datasets", "likelihoods", "network", "plot", "properties", "regions"),
    *("symmetry", "training", "diagnosis", "report", "reproduction"),
    *("walkthrough", "quiz", "estimators", "playground"),
)
_PUBLIC = {
    "_errors": (
        "InvalidFile",
        "InvalidInput",
        "InvalidTable",
        "MissingDependency",
        "PellucidError",
        "PellucidWarning",
        "UnsupportedLayer",
    ),
    "diagnosis": (
        "Comparison",
        "GradientFlow",
        "Recipe",
        "Verdict",
        "Watch",
        "compare",
        "diagnose",
        "gradient_flow",
        "verify_certificate",
        "watch",
    ),
    "estimators": ("FeedforwardClassifier", "FeedforwardRegressor"),
    "network": ("Activation", "AffineGraph", "Network", "initialize", "load", "save"),
    "properties": ("Case", "Property", "PropertyResult", "check_property", "read_vnnlib"),
    "regions": (
        "BettiNumbers",
        "Box",
        "DecisionBoundary",
        "Explanation",
        "Extremum",
        "LinearRegion",
        "LinearRegions",
        "LocalRegions",
        "PiecesAlong",
        "Plane",
        "Polyline",
        "RegionsAlong",
        "SampledPatterns",
        "Segment",
        "Space",
        "count_along",
        "explain",
        "function_distance",
        "iter_linear_regions",
        "linear_regions",
        "linear_regions_along",
        "local_regions",
        "sample_patterns",
    ),
    "report": ("write_report",),
    "training": ("Grid", "History", "Run", "train", "train_many"),
    "walkthrough": ("WorkedPass", "WorkedStep", "worked_pass", "worked_step"),
}
_HOME = {name: package for package, names in _PUBLIC.items() for name in names}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]  # made from a table
    *("constructions", "datasets", "plot", "quiz", "symmetry"),
    *_HOME,
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pellucid")
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
