// The learning rate of each step: a pure function of the step and the settings, in double.
//
// t counts the steps after the warm-up, T is their number. The formulas are torch's StepLR,
// CosineAnnealingLR and OneCycleLR (two phases, cosine, momentum untouched).
#pragma once

#include "job.hpp"

namespace pellucid::PELLUCID_ISA {

constexpr double pi = 3.14159265358979323846;

// From `start` to `end` along half a period of the cosine, as share goes from 0 to 1.
inline double half_cosine(double start, double end, double share) {
    return end + (start - end) / 2 * (1 + __builtin_cos(pi * share));
}

inline double one_cycle(const Schedule& s, double highest, double t, double T) {
    const double first = highest / s.div_factor, last = first / s.final_div_factor;
    const double peak = s.pct_start * T - 1, left = T - 1 - peak;
    if (peak > 0 && t <= peak) return half_cosine(first, highest, t / peak);
    return half_cosine(highest, last, left > 0 ? (t - peak) / left : 1);
}

inline double after_warmup(const Schedule& s, double rate, int64_t t, int64_t T) {
    switch (s.kind) {
        case ScheduleKind::step: return rate * __builtin_pow(s.gamma, double(t / s.step_size));
        case ScheduleKind::cosine: return half_cosine(rate, s.eta_min, double(t) / double(T));
        case ScheduleKind::one_cycle: return one_cycle(s, rate, double(t), double(T));
        default: return rate;
    }
}

// torch's ReduceLROnPlateau (mode min, relative threshold, no cooldown): the one schedule that looks
// at what is recorded.
struct Plateau {
    double rate, lowest = __builtin_inf();
    int64_t waited = 0;

    void look(const Schedule& s, double loss) {
        ++waited;
        if (loss < lowest * (1 - 1e-4)) lowest = loss, waited = 0;
        if (waited <= s.plateau_patience) return;
        waited = 0;
        const double next = rate * s.gamma > s.eta_min ? rate * s.gamma : s.eta_min;
        if (rate - next > 1e-8) rate = next;
    }
};

// Linear warm-up: the first w steps take 1/w, 2/w, ..., 1 of the schedule's first rate.
// rate: the setting, or where a plateau has brought it.
inline double learning_rate(const Job& job, int64_t step, double rate) {
    const Schedule& s = job.schedule;
    const int64_t w = s.warmup, T = job.steps > w ? job.steps - w : 1;
    if (step >= w) return after_warmup(s, rate, step - w, T);
    return after_warmup(s, rate, 0, T) * (double(step + 1) / double(w));
}

}  // namespace pellucid::PELLUCID_ISA
