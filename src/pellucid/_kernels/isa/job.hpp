// The kernel's interface for the number type of this object.
#pragma once

#include "../train.hpp"
#include "vec.hpp"

namespace pellucid::PELLUCID_ISA {

using Rows = pellucid::Rows<real>;
using Job = pellucid::Job<real>;
using Kernel = pellucid::Kernel<real>;

}  // namespace pellucid::PELLUCID_ISA
