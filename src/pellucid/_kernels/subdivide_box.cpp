// subdivide_box, compiled once for each instruction set: what comes out, and the tasks.
#include <cstdlib>
#include <cstring>

#include "isa/box.hpp"
#include "isa/box_cells.hpp"
#include "isa/box_corners.hpp"
#include "isa/box_games.hpp"
#include "isa/box_parts.hpp"

namespace pellucid::PELLUCID_ISA {

namespace {

// Appends the pattern and the facets of a region; place_of[slot]: which of them the slot is.
template <int DIM, int WORDS>
bool Box<DIM, WORDS>::write_facets(const Mask<WORDS>& used, int16_t* place_of) {
    RegionOutput& out = *out_;
    const size_t r = size_t(out.regions), f = size_t(out.facets);
    if (!this->write_pattern(out) || !out.facet_offsets.reserve((r + 2) * 8) ||
        !out.facet_numbers.reserve((f + size_t(used.count())) * 4))
        return false;
    int32_t* number = static_cast<int32_t*>(out.facet_numbers.data) + f;
    int16_t n_facets = 0;
    used.each([&](int slot) {
        place_of[slot] = n_facets;
        number[n_facets++] = planes_[slot].number;
    });
    out.facets += n_facets;
    static_cast<int64_t*>(out.facet_offsets.data)[r + 1] = out.facets;
    return true;
}

// Moves a point to where its hyperplanes meet.
template <int DIM, int WORDS>
void Box<DIM, WORDS>::locate(Point<DIM>& point, const Mask<WORDS>& mask) {
    LineId through[SLOTS];
    int32_t n = 0;
    mask.each([&](int slot) { through[n++] = planes_[slot].id; });
    point.delta = Layers<DIM>::locate(through, n, point.x);
    point.refined = true;
    point.X = 1;
    for (int i = 0; i < DIM; ++i) point.X += magnitude(point.x[i]);
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::emit(const Cell<WORDS>& cell) {
    RegionOutput& out = *out_;
    const size_t r = size_t(out.regions), p = size_t(out.vertices), n = size_t(cell.n);
    const size_t d = size_t(d_);
    int16_t place_of[SLOTS];
    if (!write_facets(cell.used, place_of)) return fail();
    if (problem_.wanted == Wanted::patterns) return tick(1);
    if (!out.points.reserve((p + n) * d * 8) ||
        !out.incidence.reserve((p + n) * sizeof(Mask<WORDS>)) || !out.offsets.reserve((r + 2) * 8))
        return fail();
    double* x = static_cast<double*>(out.points.data) + p * d;
    Mask<WORDS>* incidence = static_cast<Mask<WORDS>*>(out.incidence.data) + p;
    const Corner<WORDS>* v = &corners_[cell.begin];
    for (size_t i = 0; i < n; ++i) {
        Point<DIM>& point = points_[v[i].point];
        if (!(point.delta < 1e-9 * point.X)) refine(point, v[i].mask);
        if (this->is_coarse(point.delta)) locate(point, v[i].mask);
        for (size_t j = 0; j < d; ++j) x[i * d + j] = point.x[j];
        Mask<WORDS> facets{};
        v[i].mask.each([&](int slot) { facets = facets | Mask<WORDS>::of(place_of[slot]); });
        incidence[i] = facets;
        out.vertex_error = larger(out.vertex_error, point.delta);
    }
    out.vertices += cell.n;
    static_cast<int64_t*>(out.offsets.data)[r + 1] = out.vertices;
    tick(1);
}

// --- tasks -----------------------------------------------------------------------------------------

template <int DIM, int WORDS>
void Box<DIM, WORDS>::collect(int32_t layer, const Cell<WORDS>& cell, int64_t rest,
                              int64_t rest_end) {
    Tasks<DIM, WORDS>& to = *next_tasks_;
    this->worked(1);
    const Task<WORDS> task{layer, cell, to.corners.size, to.planes.size, to.rest.size,
                           rest_end - rest, to.words.size};
    bool ok = to.tasks.push(task) && to.corners.room(cell.n) && to.points.room(cell.n) &&
              to.planes.room(SLOTS) && to.rest.room(rest_end - rest);
    for (int64_t i = 0; ok && i < cell.n; ++i) {
        const Corner<WORDS>& corner = corners_[cell.begin + i];
        ok = to.corners.push(corner) && to.points.push(points_[corner.point]);
    }
    if (ok) cell.used.each([&](int slot) { to.planes.push(planes_[slot]); });
    for (int64_t i = rest; ok && i < rest_end; ++i) ok = to.rest.push(candidates_[i]);
    for (int32_t l = 0; ok && l <= layer && l < n_layers_; ++l)
        for (int64_t w = 0; ok && w < words(layers_[l].switches); ++w)
            ok = to.words.push(layers_[l].pattern[w]);
    if (!ok) fail();
}

// The box as one task; where there is much to do, split a few times into more.
template <int DIM, int WORDS>
int64_t Box<DIM, WORDS>::prepare(RegionOutput* out) {
    out_ = out;
    tasks_ = new Tasks<DIM, WORDS>;
    next_tasks_ = new Tasks<DIM, WORDS>;
    const int64_t n_corners = int64_t(1) << d_;
    if (stopped_ || !corners_.room(n_corners) || !points_.room(n_corners)) return fail(), 0;
    const double *low = problem_.domain.low, *high = problem_.domain.high;
    Cell<WORDS> box{0, n_corners, {}, true};
    for (int side = 0; side < 2 * d_; ++side) {
        const double at_side = side & 1 ? high[side / 2] : low[side / 2];
        Plane<DIM>& plane = planes_[side];
        plane = {};
        plane.a[side / 2] = 1, plane.c = -at_side;
        plane.err = (DIM + 3) * U * larger(1, magnitude(at_side));
        plane.id = LineId::side(side), plane.number = ~side;
        box.used = box.used | Mask<WORDS>::of(side);
    }
    for (int64_t i = 0; i < n_corners; ++i) {
        Corner<WORDS>& corner = corners_[i];
        Point<DIM>& point = points_[i];
        corner = {{}, 0, 0, i};
        point = {};
        point.X = 1, point.refined = true;
        for (int j = 0; j < d_; ++j) {
            const bool upper = i >> j & 1;
            point.x[j] = upper ? high[j] : low[j];
            point.X += magnitude(point.x[j]);
            corner.mask = corner.mask | Mask<WORDS>::of(2 * j + upper);
        }
    }
    corners_.size = points_.size = n_corners;
    collect(-1, box, 0, 0);
    if (stopped_) return 0;
    for (int round = 0; round < 8; ++round) {
        Tasks<DIM, WORDS>* old = tasks_;
        tasks_ = next_tasks_;
        next_tasks_ = old;
        const int64_t n = tasks_->tasks.size;
        if (n >= 48 || problem_.switches < (d_ == 1 ? 4096 : 24)) break;
        Tasks<DIM, WORDS>& to = *next_tasks_;
        to.tasks.size = to.corners.size = to.points.size = to.planes.size = 0;
        to.rest.size = to.words.size = 0;
        collecting_ = true;
        for (int64_t i = 0; i < n && !stopped_; ++i) run(*this, i, 0, out);
        collecting_ = false;
        if (stopped_) return 0;
    }
    return tasks_->tasks.size;
}

template <int DIM, int WORDS>
void Box<DIM, WORDS>::run(const Box& from, int64_t index, int64_t limit, RegionOutput* out) {
    const Tasks<DIM, WORDS>& tasks = *from.tasks_;
    const Task<WORDS>& task = tasks.tasks[index];
    out_ = out;
    limit_ = limit > 0 ? out->regions + limit : 0;
    this->on_stack(true);
    stopped_ = stop_->value.load() != int(Stop::none);
    corners_.size = points_.size = candidates_.size = 0;
    if (stopped_) return;
    Cell<WORDS> cell = task.cell;
    cell.begin = 0;
    bool ok = corners_.room(cell.n) && points_.room(cell.n);
    for (int64_t i = 0; ok && i < cell.n; ++i) {
        ok = corners_.push(tasks.corners[task.corners + i]) &&
             points_.push(tasks.points[task.corners + i]);
        if (ok) corners_[i].point = i;
    }
    for (int64_t i = 0; ok && i < task.n_rest; ++i)
        ok = candidates_.push(tasks.rest[task.rest + i]);
    if (!ok) return fail();
    int64_t plane = task.planes, word = task.words;
    cell.used.each([&](int slot) { planes_[slot] = tasks.planes[plane++]; });
    for (int32_t l = 0; l <= task.layer && l < n_layers_; ++l) {
        for (int64_t w = 0; w < words(layers_[l].switches); ++w)
            layers_[l].pattern[w] = tasks.words[word++];
        layers_[l].map.built_on = 0;  // maps do not depend on the task before
        if (l > 0) this->update_map(l);
    }
    for (int32_t l = task.layer + 1; l < n_layers_; ++l) layers_[l].map.built_on = 0;
    if (stopped_) return;
    const int32_t layer = task.layer;
    if (task.n_rest > 0) return resolve(layer, cell, 0, task.n_rest);
    enter(layer == n_layers_ ? n_layers_ : layer + 1, cell);
}

template <int DIM, int WORDS>
constexpr RegionKernel kernel_of() {
    using Of = Box<DIM, WORDS>;
    return {PELLUCID_ISA_NAME,
            DIM,
            64 * WORDS,
            sizeof(Mask<WORDS>),
            [](const RegionProblem& problem, StopSignal* stop, bool polls) -> AnySubdivision* {
                return new Of(problem, stop, polls);
            },
            [](AnySubdivision* s) { delete static_cast<Of*>(s); },
            [](AnySubdivision* s, RegionOutput* out) { return static_cast<Of*>(s)->prepare(out); },
            [](AnySubdivision* s, const AnySubdivision* tasks, int64_t task, int64_t limit,
               RegionOutput* out) {
                static_cast<Of*>(s)->run(*static_cast<const Of*>(tasks), task, limit, out);
            }};
}

}  // namespace

#if defined(PELLUCID_SMALL)  // for a page, segments alone
extern const RegionKernel line_kernel;
const RegionKernel line_kernel = kernel_of<1, 1>();
#else
// Take the first with enough dimensions and facets.
extern const RegionKernel box_kernels[N_BOX_KERNELS];
const RegionKernel box_kernels[N_BOX_KERNELS] = {kernel_of<1, 1>(), kernel_of<3, 1>(),
                                                 kernel_of<4, 1>(), kernel_of<5, 1>(), kernel_of<6, 1>(),
                                                 kernel_of<8, 1>(), kernel_of<10, 1>(), kernel_of<16, 1>(),
                                                 kernel_of<16, 16>()};
#endif

}  // namespace pellucid::PELLUCID_ISA
