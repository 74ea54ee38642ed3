// subdivide_plane, compiled once for each instruction set: what comes out, and the tasks.
#include "subdivide_plane.hpp"

#include <cstdlib>
#include <cstring>

#include "isa/plane.hpp"
#include "isa/plane_cells.hpp"
#include "isa/plane_layers.hpp"

namespace pellucid::PELLUCID_ISA {

namespace {

void Subdivision::tick(int64_t regions) {
    out_->regions += regions;
    if (limit_ > 0 && out_->regions >= limit_) stopped_ = true;
    if (++ticks_ & 4095) return;
    if (polls_ && stop_->poll && stop_->poll(stop_->poll_data))
        stop_->value.store(int(Stop::asked));
    if (stop_->value.load() != int(Stop::none)) stopped_ = true;
}

void Subdivision::emit(int64_t begin, int64_t n) {
    RegionOutput& out = *out_;
    const int64_t bytes = problem_.bytes;
    const size_t r = size_t(out.regions), p = size_t(out.vertices);
    if (!out.patterns.reserve((r + 1) * size_t(bytes) + 8 * size_t(words(problem_.switches) + 1)) ||
        !out.points.reserve((p + size_t(n)) * 16) || !out.edges.reserve((p + size_t(n)) * 4) ||
        !out.offsets.reserve((r + 2) * 8))
        return fail();
    unsigned char* packed = static_cast<unsigned char*>(out.patterns.data) + r * size_t(bytes);
    int64_t bits = 0;  // deposited so far
    uint64_t carry = 0;
    for (int32_t l = 0; l < n_layers_; ++l) {
        const Layer& layer = layers_[l];
        const int shift = int(bits & 63);
        unsigned char* at_word = packed + (bits >> 6) * 8;
        for (int64_t w = 0; w < words(layer.switches); ++w, at_word += 8) {
            const uint64_t word = layer.pattern[w];
            const uint64_t merged = carry | word << shift;
            std::memcpy(at_word, &merged, 8);
            carry = shift == 0 ? 0 : word >> (64 - shift);
            if (layer.switches - 64 * w + shift < 64) carry = merged;  // the word is not full yet
        }
        bits += layer.switches;
    }
    if (bits & 63) std::memcpy(packed + (bits >> 6) * 8, &carry, 8);

    double* point = static_cast<double*>(out.points.data) + 2 * p;
    int32_t* edge = static_cast<int32_t*>(out.edges.data) + p;
    const Vertex* v = &cells_[begin];
    for (int64_t i = 0; i < n; ++i) {
        point[2 * i] = v[i].x, point[2 * i + 1] = v[i].y;
        edge[i] = lines_[v[i].line].number;
        out.vertex_error = larger(out.vertex_error, v[i].delta);
    }
    out.vertices += n;
    static_cast<int64_t*>(out.offsets.data)[r + 1] = out.vertices;
    tick(1);
}

// --- tasks -----------------------------------------------------------------------------------------

void Subdivision::collect(int32_t layer, int64_t begin, int64_t n, int64_t rest, int64_t rest_end) {
    Tasks& to = *next_tasks_;
    const Task task{layer, to.vertices.size, n, to.lines.size, lines_.size, to.rest.size,
                    rest_end - rest, to.words.size};
    bool ok = to.tasks.push(task) && to.vertices.room(n) && to.lines.room(lines_.size) &&
              to.rest.room(rest_end - rest);
    for (int64_t i = 0; ok && i < n; ++i) ok = to.vertices.push(cells_[begin + i]);
    for (int64_t i = 0; ok && i < lines_.size; ++i) ok = to.lines.push(lines_[i]);
    for (int64_t i = rest; ok && i < rest_end; ++i) ok = to.rest.push(candidates_[i]);
    for (int32_t l = 0; ok && l <= layer && l < n_layers_; ++l)
        for (int64_t w = 0; ok && w < words(layers_[l].switches); ++w)
            ok = to.words.push(layers_[l].pattern[w]);
    if (!ok) fail();
}

// The rectangle as one task; where there is much to do, split a few times into more.
int64_t Subdivision::prepare(RegionOutput* out) {
    out_ = out;
    tasks_ = new Tasks;
    next_tasks_ = new Tasks;
    if (stopped_ || !cells_.room(4) || !lines_.room(4)) return fail(), 0;
    const double *low = problem_.domain.low, *high = problem_.domain.high;
    const double corner[4][2] = {
        {low[0], low[1]}, {high[0], low[1]}, {high[0], high[1]}, {low[0], high[1]}};
    const int side[4] = {2, 1, 3, 0};  // of the edge that follows each corner
    for (int i = 0; i < 4; ++i) {
        const bool x_side = side[i] < 2;
        const double at_side = (side[i] & 1 ? high : low)[side[i] / 2];
        lines_[i] = {double(x_side), double(!x_side), -at_side, 0,
                     larger(1, magnitude(at_side)), LineId::side(side[i]), ~side[i]};
        cells_[i] = {corner[i][0], corner[i][1], 0, 0, 0, 0, i, 0};
    }
    cells_.size = lines_.size = 4;
    collect(-1, 0, 4, 0, 0);
    if (stopped_) return 0;
    for (int round = 0; round < 8; ++round) {
        Tasks* old = tasks_;
        tasks_ = next_tasks_;
        next_tasks_ = old;
        const int64_t n = tasks_->tasks.size;
        if (n >= 48 || problem_.switches < 128) break;
        Tasks& to = *next_tasks_;
        to.tasks.size = to.vertices.size = to.lines.size = to.rest.size = to.words.size = 0;
        collecting_ = true;
        for (int64_t i = 0; i < n && !stopped_; ++i) run(*this, i, 0, out);
        collecting_ = false;
        if (stopped_) return 0;
    }
    return tasks_->tasks.size;
}

void Subdivision::run(const Subdivision& from, int64_t index, int64_t limit, RegionOutput* out) {
    const Tasks& tasks = *from.tasks_;
    const Task& task = tasks.tasks[index];
    out_ = out;
    limit_ = limit > 0 ? out->regions + limit : 0;
    stopped_ = stop_->value.load() != int(Stop::none);
    cells_.size = lines_.size = candidates_.size = 0;
    if (stopped_) return;
    bool ok = cells_.room(task.n_vertices) && lines_.room(task.n_lines);
    for (int64_t i = 0; ok && i < task.n_vertices; ++i)
        ok = cells_.push(tasks.vertices[task.vertices + i]);
    for (int64_t i = 0; ok && i < task.n_lines; ++i) ok = lines_.push(tasks.lines[task.lines + i]);
    for (int64_t i = 0; ok && i < task.n_rest; ++i)
        ok = candidates_.push(tasks.rest[task.rest + i]);
    if (!ok) return fail();
    int64_t word = task.words;
    for (int32_t l = 0; l <= task.layer && l < n_layers_; ++l) {
        for (int64_t w = 0; w < words(layers_[l].switches); ++w)
            layers_[l].pattern[w] = tasks.words[word++];
        layers_[l].map.built_on = 0;  // maps do not depend on the task before
        if (l > 0) update_map(l);
    }
    for (int32_t l = task.layer + 1; l < n_layers_; ++l) layers_[l].map.built_on = 0;
    if (stopped_) return;
    if (task.n_rest > 0) return resolve(task.layer, 0, task.n_vertices, task.n_vertices, 0, task.n_rest);
    enter(task.layer == n_layers_ ? n_layers_ : task.layer + 1, 0, task.n_vertices, task.n_vertices);
}

}  // namespace

extern const PlaneKernel plane_kernel;
const PlaneKernel plane_kernel{
    PELLUCID_ISA_NAME,
    [](const PlaneProblem& problem, StopSignal* stop, bool polls) -> PlaneSubdivision* {
        return new Subdivision(problem, stop, polls);
    },
    [](PlaneSubdivision* s) { delete static_cast<Subdivision*>(s); },
    [](PlaneSubdivision* s, RegionOutput* out) {
        return static_cast<Subdivision*>(s)->prepare(out);
    },
    [](PlaneSubdivision* s, const PlaneSubdivision* tasks, int64_t task, int64_t limit,
       RegionOutput* out) {
        static_cast<Subdivision*>(s)->run(*static_cast<const Subdivision*>(tasks), task, limit, out);
    }};

}  // namespace pellucid::PELLUCID_ISA
