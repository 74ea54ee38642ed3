// Initial weights without Python: the streams of `pellucid.initialize`, bit for bit.
//
// "torch" is MT19937 (Matsumoto and Nishimura 1998) as torch and NumPy's RandomState seed it; the other
// schemes draw from NumPy's default generator, PCG64 (O'Neill 2014) seeded through SeedSequence, and
// normal numbers come by NumPy's ziggurat (Doornik 2005). network/initialization.py has the schemes.
#pragma once

#include <cstdint>

namespace pellucid {

// The order is that of SCHEMES in network/initialization.py.
enum class Scheme : int32_t {
    torch, he_normal, he_uniform, glorot_normal, glorot_uniform, lecun_normal, lecun_uniform, count
};

// W1 row by row, b1, W2, ... for the widths d_0 .. d_L.
void draw_parameters(Scheme, const int32_t* widths, int n_layers, uint64_t seed, float* parameters);

}  // namespace pellucid
