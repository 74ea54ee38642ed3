"""`as_recipe`: a recipe from options in one string, from a dict, or as it is."""

import difflib
from collections.abc import Mapping
from typing import Any

from .._errors import InvalidInput
from ..network import as_activations, text_of
from ..training.settings import settings_from
from .verdict import Recipe

_USUAL = dict(vars(Recipe((16,))))
_NAMES = tuple(_USUAL)
_WHOLE = ("steps", "batch_size")
_TRUTH = {
    **dict.fromkeys(("yes", "true", "1", "on"), True),
    **dict.fromkeys(("no", "false", "0", "off"), False),
}


def as_recipe(what: str | Mapping[str, Any] | Recipe, name: str = "the recipe") -> Recipe:
    """The checked recipe; what is not said is as in `diagnose`, with one hidden layer of 16.

    A string holds options with commas between them: "hidden=8,8,learning_rate=0.01,standardize".
    """
    if isinstance(what, Recipe):
        return _recipe(dict(vars(what)), name)
    if isinstance(what, str):
        return _recipe(_options(what, name), name)
    if isinstance(what, Mapping):
        return _recipe(dict(what), name)
    raise InvalidInput(
        f"{name} is of type {type(what).__name__}; it needs options in a string, such as "
        '"hidden=16,learning_rate=0.01", a dict of them, or a Recipe.'
    )


def _recipe(options: dict[str, Any], name: str) -> Recipe:
    """Every value checked as `train` checks it, and in its plain form."""
    for option in options:
        if option not in _NAMES:
            close = difflib.get_close_matches(str(option), _NAMES, 1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidInput(
                f"{name} has no option {str(option)!r:.60}; {hint}the options are "
                f"{', '.join(_NAMES)}."
            )
    values: dict[str, Any] = {**_USUAL, **options}
    if isinstance(values["hidden"], str) or not hasattr(values["hidden"], "__iter__"):
        raise InvalidInput(
            f"hidden of {name} is {values['hidden']!r}; it needs a list of widths, such as [8, 8], "
            "or []."
        )
    standardize = bool(values.pop("standardize"))
    values["activation"] = as_activations(values["activation"])
    s = settings_from({**values, "hidden": tuple(values["hidden"])})
    checked = {key: getattr(s, key) for key in values}
    checked["activation"] = text_of(as_activations(s.activation))
    return Recipe(**checked, standardize=standardize)


def _options(text: str, name: str) -> dict[str, Any]:
    """Option by option; a word without "=" goes on with the widths, or switches something on."""
    words: dict[str, str] = {}
    last = ""
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if equals or key == "standardize":
            if key in words:
                raise InvalidInput(f"{name} names {key} twice; give it once.")
            words[key], last = value.strip() if equals else "yes", key
        elif last in ("hidden", "activation"):  # widths, and leaky_relu(0.1), go on
            words[last] += f",{part}"
        else:
            raise InvalidInput(
                f"{name} holds {part!r:.60}, which is no option; write name=value, such as "
                '"hidden=16,learning_rate=0.01".'
            )
    return {key: _value(key, word, name) for key, word in words.items()}


def _value(key: str, word: str, name: str) -> Any:
    if key not in _NAMES or isinstance(_USUAL[key], str):
        return word
    if key == "hidden":
        return _widths(word, name)
    if key == "standardize":
        if word.lower() in _TRUTH:
            return _TRUTH[word.lower()]
        raise InvalidInput(f"standardize of {name} is {word!r:.40}; it needs yes or no.")
    if key == "batch_size" and word.lower() in ("none", "all"):
        return None
    try:
        return int(word) if key in _WHOLE else float(word)
    except ValueError:
        kind = "whole number" if key in _WHOLE else "number"
        raise InvalidInput(f"{key} of {name} is {word!r:.40}; it needs a {kind}.") from None


def _widths(word: str, name: str) -> tuple[int, ...]:
    if word.lower() in ("none", ""):
        return ()
    words = [w.strip() for w in word.split(",")]
    if not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
        raise InvalidInput(
            f"hidden of {name} is {word!r:.60}; it needs whole numbers with commas between them, "
            "such as 8,8, or none."
        )
    return tuple(map(int, words))
