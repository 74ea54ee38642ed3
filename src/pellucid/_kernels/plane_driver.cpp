// Threads around subdivide_plane: who runs which task, and how the parts are joined in order.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "subdivide_plane.hpp"

namespace pellucid {

bool Growing::reserve(size_t bytes) {
    if (bytes <= capacity) return true;
    const size_t wanted = std::max(bytes, std::max<size_t>(capacity + capacity / 2, 1024));
    void* grown = std::realloc(data, wanted);
    if (!grown) return false;
    data = grown, capacity = wanted;
    return true;
}

void* Growing::release() {
    void* released = data;
    data = nullptr, capacity = 0;
    return released;
}

Growing::~Growing() { std::free(data); }

namespace {

// The regions of one task within its thread's output.
struct Part {
    int64_t task, region, n_regions, vertex, n_vertices;
};

struct Worker {
    RegionOutput output;
    std::vector<Part> parts;
};

class Run {
public:
    Run(const PlaneKernel& kernel, const PlaneProblem& problem, int64_t limit, StopSignal& stop)
        : kernel_(kernel), problem_(problem), limit_(limit), stop_(stop) {}

    void run(int32_t threads, PlaneResult* result);

private:
    void work(PlaneSubdivision* self, Worker& worker, int64_t pause_after);
    bool next(int64_t& task);
    void finished(int64_t task, int64_t regions);
    void join(const std::vector<Part>& parts, const std::vector<const RegionOutput*>& from,
              RegionOutput* to);

    const PlaneKernel& kernel_;
    const PlaneProblem& problem_;
    const int64_t limit_;
    StopSignal& stop_;
    const PlaneSubdivision* tasks_ = nullptr;
    int64_t n_tasks_ = 0;
    std::mutex mutex_;
    int64_t next_ = 0;
    std::vector<int64_t> found_;  // by task, -1 where it is not finished
    int64_t in_order_ = 0;        // tasks finished without a gap, and their regions
    int64_t regions_in_order_ = 0;
};

// Once the first tasks hold as many regions as are wanted, no other task is begun.
bool Run::next(int64_t& task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (next_ >= n_tasks_ || (limit_ > 0 && regions_in_order_ > limit_) ||
        stop_.value.load() != int(Stop::none))
        return false;
    task = next_++;
    return true;
}

void Run::finished(int64_t task, int64_t regions) {
    const std::lock_guard<std::mutex> lock(mutex_);
    found_[size_t(task)] = regions;
    while (in_order_ < n_tasks_ && found_[size_t(in_order_)] >= 0)
        regions_in_order_ += found_[size_t(in_order_++)];
}

void Run::work(PlaneSubdivision* self, Worker& worker, int64_t pause_after) {
    int64_t task;
    while (worker.output.regions < pause_after && next(task)) {
        RegionOutput& out = worker.output;
        const Part before{task, out.regions, 0, out.vertices, 0};
        // One more than wanted tells whether anything was left out.
        kernel_.run(self, tasks_, task, limit_ > 0 ? limit_ + 1 : 0, &out);
        worker.parts.push_back({task, before.region, out.regions - before.region, before.vertex,
                                out.vertices - before.vertex});
        finished(task, out.regions - before.region);
    }
}

void Run::join(const std::vector<Part>& parts, const std::vector<const RegionOutput*>& from,
               RegionOutput* to) {
    int64_t regions = 0, vertices = 0;
    for (const Part& part : parts) regions += part.n_regions, vertices += part.n_vertices;
    to->regions = regions;
    if (problem_.count_only) return;
    to->vertices = vertices;
    const size_t bytes = size_t(problem_.bytes);
    if (!to->patterns.reserve(size_t(regions) * bytes) || !to->points.reserve(size_t(vertices) * 16) ||
        !to->edges.reserve(size_t(vertices) * 4) || !to->offsets.reserve(size_t(regions + 1) * 8))
        throw std::bad_alloc();
    auto copy = [](Growing& a, size_t a_at, const Growing& b, size_t b_at, size_t n) {
        if (n > 0) std::memcpy(static_cast<char*>(a.data) + a_at, static_cast<char*>(b.data) + b_at, n);
    };
    size_t r = 0, v = 0;
    int64_t* offsets = static_cast<int64_t*>(to->offsets.data);
    offsets[0] = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        const RegionOutput& source = *from[i];
        const size_t r0 = size_t(part.region), n = size_t(part.n_regions);
        const size_t v0 = size_t(part.vertex), m = size_t(part.n_vertices);
        copy(to->patterns, r * bytes, source.patterns, r0 * bytes, n * bytes);
        copy(to->points, v * 16, source.points, v0 * 16, m * 16);
        copy(to->edges, v * 4, source.edges, v0 * 4, m * 4);
        const int64_t* ends = static_cast<const int64_t*>(source.offsets.data) + r0;
        for (size_t k = 1; k <= n; ++k) offsets[r + k] = ends[k] - part.vertex + int64_t(v);
        r += n, v += m;
    }
}

void Run::run(int32_t threads, PlaneResult* result) {
    struct Owned {
        const PlaneKernel& kernel;
        PlaneSubdivision* subdivision;
        ~Owned() { kernel.destroy(subdivision); }
    };
    Owned main{kernel_, kernel_.create(problem_, &stop_, true)};
    std::vector<Worker> workers(size_t(std::max(threads, 1)));
    for (Worker& worker : workers)
        if (!problem_.count_only && worker.output.offsets.reserve(8))
            static_cast<int64_t*>(worker.output.offsets.data)[0] = 0;
    tasks_ = main.subdivision;
    n_tasks_ = kernel_.prepare(main.subdivision, &workers[0].output);
    found_.assign(size_t(n_tasks_), -1);
    // Threads cost more than a small subdivision.
    work(main.subdivision, workers[0], threads > 1 ? 2000 : INT64_MAX);
    if (threads > 1 && next_ < n_tasks_) {
        std::vector<std::thread> others;
        for (int32_t i = 1; i < threads; ++i)
            others.emplace_back([this, &worker = workers[size_t(i)]] {
                Owned own{kernel_, kernel_.create(problem_, &stop_, false)};
                work(own.subdivision, worker, INT64_MAX);
            });
        work(main.subdivision, workers[0], INT64_MAX);
        for (std::thread& thread : others) thread.join();
    }

    RegionOutput& to = result->regions;
    bool one = true;
    for (size_t i = 1; i < workers.size(); ++i) one = one && workers[i].parts.empty();
    if (one) {
        RegionOutput& from = workers[0].output;
        to.regions = from.regions, to.vertices = from.vertices;
        std::swap(to.patterns.data, from.patterns.data);
        std::swap(to.points.data, from.points.data);
        std::swap(to.edges.data, from.edges.data);
        std::swap(to.offsets.data, from.offsets.data);
    } else {
        std::vector<std::pair<Part, const RegionOutput*>> all;
        for (const Worker& worker : workers)
            for (const Part& part : worker.parts) all.emplace_back(part, &worker.output);
        std::sort(all.begin(), all.end(),
                  [](const auto& a, const auto& b) { return a.first.task < b.first.task; });
        std::vector<Part> parts;
        std::vector<const RegionOutput*> from;
        for (const auto& [part, output] : all) parts.push_back(part), from.push_back(output);
        join(parts, from, &to);
    }
    for (const Worker& worker : workers) {
        to.by_filter += worker.output.by_filter;
        to.by_exact += worker.output.by_exact;
        to.undecided += worker.output.undecided;
        to.vertex_error = std::max(to.vertex_error, worker.output.vertex_error);
    }
    result->stopped = Stop(stop_.value.load());
    result->complete = result->stopped == Stop::none && (limit_ == 0 || to.regions <= limit_);
    if (limit_ > 0 && to.regions > limit_) {
        to.regions = limit_;
        if (!problem_.count_only)
            to.vertices = static_cast<int64_t*>(to.offsets.data)[limit_];
    }
}

}  // namespace

void subdivide_plane(const PlaneKernel& kernel, const PlaneProblem& problem, int32_t threads,
                     int64_t limit, bool (*poll)(void*), void* poll_data, PlaneResult* result) {
    StopSignal stop;
    stop.poll = poll;
    stop.poll_data = poll_data;
    Run(kernel, problem, limit, stop).run(threads, result);
}

}  // namespace pellucid
