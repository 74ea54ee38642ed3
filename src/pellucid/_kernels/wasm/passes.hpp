// Passes whose numbers all come back: what the page shows. Compiled for float and for double from the
// same products, activations and losses that training is made of.
#pragma once

#include "../train.hpp"

namespace pellucid {

template <class Real>
struct Passes {
    size_t (*workspace_bytes)(const Job<Real>&);
    // z, h and slopes (each null, or one array for each layer, null where it is not wanted), row by
    // row: (n, width). z has the outputs last; h and slopes are of the hidden layers.
    void (*forward)(const Job<Real>&, void* workspace, const Real* parameters, const Real* X,
                    int64_t n, Real* const* z, Real* const* h, Real* const* slopes);
    // Mean loss of the rows in nats, and its derivative by the outputs (n, d_out); nan where one of
    // them is not finite.
    double (*loss)(const Job<Real>&, void* workspace, const Rows<Real>&, const Real* outputs,
                   Real* gradient);
};

namespace baseline { extern const Passes<float> passes; }
namespace baseline_double { extern const Passes<double> passes; }

}  // namespace pellucid
