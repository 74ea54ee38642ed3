// Volumes of convex polytopes that are given by vertices and their facets.
#pragma once

#include <cstdint>

namespace pellucid {

// Of n polytopes in d <= 15 dimensions; polytope i has the vertices offsets[i] to offsets[i + 1], and
// vertex v lies on those of its facets whose bits are set in the `words` words from v words on.
void box_volumes(int64_t n, int d, int words, const double* vertices, const int64_t* offsets,
                 const uint64_t* tight, double* volumes);

}  // namespace pellucid
