// subdivide_plane, compiled once for each instruction set: what comes out, and the tasks.
#include "region_driver.hpp"

#include <cstdlib>
#include <cstring>

#include "isa/plane.hpp"
#include "isa/plane_cells.hpp"
#include "isa/layers.hpp"

namespace pellucid::PELLUCID_ISA {

namespace {

void Subdivision::emit(int64_t begin, int64_t n) {
    RegionOutput& out = *out_;
    const size_t r = size_t(out.regions), p = size_t(out.vertices);
    if (!write_pattern(out) || !out.points.reserve((p + size_t(n)) * 16) ||
        !out.incidence.reserve((p + size_t(n)) * 4) || !out.offsets.reserve((r + 2) * 8))
        return fail();
    double* point = static_cast<double*>(out.points.data) + 2 * p;
    int32_t* edge = static_cast<int32_t*>(out.incidence.data) + p;
    const Vertex* v = &cells_[begin];
    for (int64_t i = 0; i < n; ++i) {
        const Line &next = lines_[v[i].line], &before = lines_[v[i > 0 ? i - 1 : n - 1].line];
        point[2 * i] = v[i].x, point[2 * i + 1] = v[i].y;
        edge[i] = next.number;
        double delta = v[i].delta;
        if (is_coarse(delta)) {
            const LineId through[2] = {before.id, next.id};
            delta = locate(through, 2, point + 2 * i);
        }
        out.vertex_error = larger(out.vertex_error, delta);
    }
    out.vertices += n;
    static_cast<int64_t*>(out.offsets.data)[r + 1] = out.vertices;
    tick(1);
}

// --- tasks -----------------------------------------------------------------------------------------

void Subdivision::collect(int32_t layer, int64_t begin, int64_t n, int64_t rest, int64_t rest_end) {
    Tasks& to = *next_tasks_;
    worked(1);
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
    on_stack(true);
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

extern const RegionKernel plane_kernel;
const RegionKernel plane_kernel{
    PELLUCID_ISA_NAME,
    2,
    0,
    sizeof(int32_t),
    [](const RegionProblem& problem, StopSignal* stop, bool polls) -> AnySubdivision* {
        return new Subdivision(problem, stop, polls);
    },
    [](AnySubdivision* s) { delete static_cast<Subdivision*>(s); },
    [](AnySubdivision* s, RegionOutput* out) {
        return static_cast<Subdivision*>(s)->prepare(out);
    },
    [](AnySubdivision* s, const AnySubdivision* tasks, int64_t task, int64_t limit,
       RegionOutput* out) {
        static_cast<Subdivision*>(s)->run(*static_cast<const Subdivision*>(tasks), task, limit, out);
    }};

}  // namespace pellucid::PELLUCID_ISA
