"""Options that take several words, as one types points: `--box -2,2 -2,2`."""

from collections.abc import Sequence

SEVERAL = {
    "regions": ("--box", "--slice", "--line", "--extent"),
    "walkthrough": ("--row",),
    "inspect": ("--box",),
}
MAYBE_ONE = {"regions": {"--json": ".json"}}
"""Options with or without a value, and how one ends that is given as a word of its own."""

HERE = "-"  # what such an option is without a value: standard output


def spread(words: Sequence[str]) -> list[str]:
    """Give every point its option, `--box=-2,2 --box=-2,2`, as the parser of options takes it."""
    verb = words[0] if words else ""
    several, maybe = SEVERAL.get(verb, ()), MAYBE_ONE.get(verb, {})
    found, i = list(words[:1]), 1
    while i < len(words):
        word, i = words[i], i + 1
        if word == "--":
            return [*found, *words[i - 1 :]]
        if word in several and i < len(words):
            found.append(f"{word}={words[i]}")
            i += 1
            while i < len(words) and _is_point(words[i]):
                found.append(f"{word}={words[i]}")
                i += 1
        elif word in maybe:
            has_value = i < len(words) and words[i].endswith(maybe[word])
            found.append(f"{word}={words[i] if has_value else HERE}")
            i += has_value
        else:
            found.append(word)
    return found


def _is_point(word: str) -> bool:
    """Whether a word is numbers with commas between, or the row of a table: @3.

    One that begins like a negative number is one, too: what is wrong with it is told later.
    """
    if word.startswith("@"):
        return word[1:].isdigit()
    if len(word) > 1 and word[0] == "-" and (word[1].isdigit() or word[1] in ".,"):
        return True
    try:
        return all(map(float, word.split(","))) or True
    except ValueError:
        return False
