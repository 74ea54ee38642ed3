// What the outputs of a network say about a target: the C++ form of `Likelihood.predict`, for places
// without Python. likelihoods/ has the formulas with their reasons; a test compares the two.
#pragma once

#include <cstdint>

#include "train.hpp"

namespace pellucid {

// Columns of a prediction: classes, targets, or quantiles.
int64_t predicted_columns(Likelihood, const double* parameters, int n_parameters, int64_t d_out);

// outputs (n, d_out) -> predictions (n, columns). Real is float or double; computed in double.
template <class Real>
void predict(Likelihood, const double* parameters, int n_parameters, const Real* outputs, int64_t n,
             int64_t d_out, Real* predictions);

}  // namespace pellucid
