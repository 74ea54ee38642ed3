#!/usr/bin/env bash
# Fuzz the training and region kernels under AddressSanitizer and UBSan: random networks on exactly
# sized arrays, for each instruction set that this processor has, training in float and in double.
# usage: tools/sanitize.sh [SECONDS each, by default 100] [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-100} seed=${2:-1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# fuzz NAME BYTES REGISTERS flags...: both number types in vectors of BYTES
fuzz() {
    local name=$1 bytes=$2 registers=$3
    shift 3
    fuzz_type "$name" float $((bytes / 4)) "$registers" "$@"
    fuzz_type "$name" double $((bytes / 8)) "$registers" "$@"
}

fuzz_type() {
    local name=$1 real=$2 lanes=$3 registers=$4
    shift 4
    echo "kernel $name in $real, $seconds seconds"
    "${CXX:-g++}" -std=gnu++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all "$@" \
        -DPELLUCID_ISA="$name" -DPELLUCID_ISA_NAME="\"$name\"" -DPELLUCID_REAL="$real" \
        -DPELLUCID_LANES="$lanes" -DPELLUCID_REGISTERS="$registers" -Isrc/pellucid/_kernels \
        src/pellucid/_kernels/train.cpp tests/_kernels/fuzz_train.cpp -o "$folder/fuzz_$name"
    "$folder/fuzz_$name" "$seconds" "$seed"
}

# The region kernels: regions NAME flags...
regions() {
    local name=$1 what
    shift
    for what in regions maps; do
        echo "$what $name, $seconds seconds"
        "${CXX:-g++}" -std=gnu++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
            -DPELLUCID_ISA="$name" -DPELLUCID_ISA_NAME="\"$name\"" -Isrc/pellucid/_kernels "$@" \
            src/pellucid/_kernels/{subdivide_plane,subdivide_box,region_driver,predicates}.cpp \
            src/pellucid/_kernels/{growing,dyadic,volumes,compose_maps,pair_facets}.cpp \
            "tests/_kernels/fuzz_$what.cpp" -pthread -o "$folder/${what}_$name"
        "$folder/${what}_$name" "$seconds" "$seed"
    done
}

flags=$(grep -m1 '^flags' /proc/cpuinfo 2>/dev/null || true)
fuzz baseline 16 16
[[ $flags == *avx2* ]] && fuzz avx2 32 16 -mavx2 -mfma
[[ $flags == *avx512vl* ]] &&
    fuzz avx512 64 32 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
regions baseline
[[ $flags == *avx2* ]] && regions avx2 -mavx2 -mfma
[[ $flags == *avx512vl* ]] &&
    regions avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
echo "no finding"
