#!/usr/bin/env bash
# Fuzz the training kernel under AddressSanitizer and UBSan: random networks on exactly sized arrays,
# for each instruction set that this processor has.  usage: tools/sanitize.sh [SECONDS each] [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-200} seed=${2:-1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fuzz() {
    local name=$1 lanes=$2 registers=$3
    shift 3
    echo "kernel $name, $seconds seconds"
    "${CXX:-g++}" -std=gnu++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all "$@" \
        -DPELLUCID_ISA="$name" -DPELLUCID_ISA_NAME="\"$name\"" -DPELLUCID_REAL=float -DPELLUCID_LANES="$lanes" \
        -DPELLUCID_REGISTERS="$registers" -Isrc/pellucid/_kernels \
        src/pellucid/_kernels/train.cpp tests/_kernels/fuzz_train.cpp -o "$folder/fuzz_$name"
    "$folder/fuzz_$name" "$seconds" "$seed"
}

flags=$(grep -m1 '^flags' /proc/cpuinfo 2>/dev/null || true)
fuzz baseline 4 16
[[ $flags == *avx2* ]] && fuzz avx2 8 16 -mavx2 -mfma
[[ $flags == *avx512vl* ]] &&
    fuzz avx512 16 32 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
echo "no finding"
