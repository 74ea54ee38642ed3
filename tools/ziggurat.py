"""Writes _kernels/ziggurat.hpp: the tables by which NumPy draws normal numbers.

256 strips of equal area under exp(-x^2 / 2), the last one with the tail beyond R (Marsaglia and
Tsang 2000, in the form of Doornik 2005). NumPy's entries are rounded in their own way (some differ
from the correctly rounded ones in the last places), so they are read out of its library: the
constants of equal draws. Tests compare the draws bit for bit.
"""

import struct
from pathlib import Path

import numpy as np

END, INVERSE_END = 3.6541528853610088, 0.27366123732975828
TARGET = Path(__file__).parents[1] / "src/pellucid/_kernels/ziggurat.hpp"


def table(library: bytes, kind: str, looks_right) -> list:
    """The one run of 256 numbers in the library that looks right."""
    size = 256 * 8
    for at in range(0, len(library) - size, 2):
        numbers = list(struct.unpack_from("<3" + kind, library, at))
        if looks_right(numbers):
            return list(struct.unpack_from("<256" + kind, library, at))
    raise SystemExit("this NumPy keeps its tables elsewhere")


def tables() -> tuple[list[int], list[float], list[float]]:
    library = (Path(np.__file__).parent / "random/lib/libnpyrandom.a").read_bytes()
    widest = 1.0 / 2**52  # wider than strip 1 is long
    inside = table(
        library, "Q", lambda k: k[0] >> 40 == 0xEF3 and k[1] == 0 and k[2] >> 40 == 0xC08
    )
    width = table(library, "d", lambda w: 3.9 < w[0] / widest < 3.92 and 0.2 < w[1] / widest < 0.22)
    height = table(library, "d", lambda f: f[0] == 1 and 0.977 < f[1] < 0.978 and f[2] < f[1])
    return inside, width, height


def array(kind: str, name: str, words: list[str]) -> str:
    lines = [f"constexpr {kind} {name}[256] = {{"]
    line = "   "
    for word in words:
        if len(line) + len(word) > 104:
            lines.append(line)
            line = "   "
        line += f" {word},"
    return "\n".join([*lines, line, "};"])


def main() -> None:
    inside, width, height = tables()
    parts = [
        "// NumPy's ziggurat under exp(-x^2 / 2), for the normal numbers of draws.cpp; written by\n"
        "// tools/ziggurat.py.\n#pragma once\n\n#include <cstdint>\n\nnamespace pellucid {\n",
        f"constexpr double ziggurat_end = {END.hex()};\n"
        f"constexpr double ziggurat_inverse_end = {INVERSE_END.hex()};\n",
        array("uint64_t", "ziggurat_inside", [hex(k) for k in inside]) + "\n",
        array("double", "ziggurat_width", [w.hex() for w in width]) + "\n",
        array("double", "ziggurat_height", [h.hex() for h in height]) + "\n",
        "}  // namespace pellucid\n",
    ]
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
