// Threads around a subdivision: who runs which task, and how the parts are joined in order.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "region_driver.hpp"

namespace pellucid {

bool begin_offsets(RegionOutput& output) {
    for (Growing* offsets : {&output.offsets, &output.facet_offsets}) {
        if (!offsets->reserve(8)) return false;
        static_cast<int64_t*>(offsets->data)[0] = 0;
    }
    return true;
}

bool hand_over(const RegionSink& sink, RegionOutput& output) {
    if (!sink.take(sink.data, output)) return false;
    output.regions = output.vertices = output.facets = 0;
    return begin_offsets(output);
}

namespace {

// What one thread has found: in one output where it is the only one, else one for each task.
struct Worker {
    RegionOutput all;
    std::vector<std::pair<int64_t, std::unique_ptr<RegionOutput>>> parts;
};

void add_decisions(const RegionOutput& from, RegionOutput& to) {
    to.by_filter += from.by_filter;
    to.by_exact += from.by_exact;
    to.undecided += from.undecided;
    to.vertex_error = std::max(to.vertex_error, from.vertex_error);
}

void take(RegionOutput& from, RegionOutput& to) {
    to.regions = from.regions, to.vertices = from.vertices, to.facets = from.facets;
    for (auto memory : {&RegionOutput::patterns, &RegionOutput::points, &RegionOutput::incidence,
                        &RegionOutput::offsets, &RegionOutput::facet_numbers,
                        &RegionOutput::facet_offsets})
        std::swap((to.*memory).data, (from.*memory).data),
            std::swap((to.*memory).capacity, (from.*memory).capacity);
}

// A thread's own subdivision; null where memory ended.
struct Owned {
    const RegionKernel& kernel;
    AnySubdivision* subdivision = nullptr;

    Owned(const RegionKernel& kernel, const RegionProblem& problem, StopSignal& stop, bool polls)
        : kernel(kernel) {
        try {
            subdivision = kernel.create(problem, &stop, polls);
        } catch (const std::bad_alloc&) {
            stop.value.store(int(Stop::out_of_memory));
        }
    }
    ~Owned() {
        if (subdivision) kernel.destroy(subdivision);
    }
    Owned(const Owned&) = delete;
};

class Run {
public:
    Run(const RegionKernel& kernel, const RegionProblem& problem, int64_t limit, StopSignal& stop)
        : kernel_(kernel), problem_(problem), limit_(limit), stop_(stop) {}

    void run(int32_t threads, RegionResult* result);

private:
    void work(AnySubdivision* self, Worker& worker, int64_t pause_after);
    RegionOutput* output_of(Worker& worker, int64_t task);
    bool next(int64_t& task);
    void finished(int64_t task, int64_t regions);
    void join(std::vector<Worker>& workers, RegionOutput& to);
    void append(const RegionOutput& from, RegionOutput& to);
    bool counting() const { return problem_.wanted == Wanted::count; }
    size_t point_bytes() const { return size_t(problem_.domain.d) * sizeof(double); }

    const RegionKernel& kernel_;
    const RegionProblem& problem_;
    const int64_t limit_;
    StopSignal& stop_;
    bool separate_ = false;  // an output for each task
    const AnySubdivision* tasks_ = nullptr;
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

RegionOutput* Run::output_of(Worker& worker, int64_t task) {
    if (!separate_) return &worker.all;
    worker.parts.emplace_back(task, std::make_unique<RegionOutput>());
    RegionOutput* output = worker.parts.back().second.get();
    if (begin_offsets(*output)) return output;
    stop_.value.store(int(Stop::out_of_memory));
    return nullptr;
}

void Run::work(AnySubdivision* self, Worker& worker, int64_t pause_after) try {
    int64_t task, found = 0;
    while (found < pause_after && next(task)) {
        RegionOutput* output = output_of(worker, task);
        if (!output) return;
        const int64_t before = output->regions;
        // One more than wanted tells whether anything was left out.
        kernel_.run(self, tasks_, task, limit_ > 0 ? limit_ + 1 : 0, output);
        finished(task, output->regions - before);
        found += output->regions - before;
    }
} catch (const std::bad_alloc&) {  // an exception must not leave a thread
    stop_.value.store(int(Stop::out_of_memory));
}

void Run::append(const RegionOutput& from, RegionOutput& to) {
    auto copy = [](const Growing& source, Growing& target, int64_t at, int64_t n, size_t each) {
        if (n > 0)
            std::memcpy(static_cast<char*>(target.data) + size_t(at) * each, source.data,
                        size_t(n) * each);
    };
    auto shift = [&](const Growing& source, Growing& target, int64_t by) {
        const int64_t* ends = static_cast<const int64_t*>(source.data);
        int64_t* offsets = static_cast<int64_t*>(target.data) + to.regions;
        for (int64_t i = 1; i <= from.regions; ++i) offsets[i] = by + ends[i];
    };
    copy(from.patterns, to.patterns, to.regions, from.regions, size_t(problem_.bytes));
    copy(from.points, to.points, to.vertices, from.vertices, point_bytes());
    copy(from.incidence, to.incidence, to.vertices, from.vertices, kernel_.bytes_per_incidence);
    copy(from.facet_numbers, to.facet_numbers, to.facets, from.facets, sizeof(int32_t));
    if (problem_.wanted == Wanted::vertices) shift(from.offsets, to.offsets, to.vertices);
    if (kernel_.facets > 0) shift(from.facet_offsets, to.facet_offsets, to.facets);
    to.regions += from.regions;
    to.vertices += from.vertices;
    to.facets += from.facets;
}

// All parts in the order of tasks; each is freed as soon as it is copied.
void Run::join(std::vector<Worker>& workers, RegionOutput& to) {
    std::vector<std::pair<int64_t, std::unique_ptr<RegionOutput>>> parts;
    for (Worker& worker : workers)
        for (auto& part : worker.parts) parts.push_back(std::move(part));
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t regions = 0, vertices = 0, facets = 0;
    for (const auto& [task, part] : parts) {
        regions += size_t(part->regions);
        vertices += size_t(part->vertices);
        facets += size_t(part->facets);
    }
    if (!to.patterns.reserve(regions * size_t(problem_.bytes)) ||
        !to.points.reserve(vertices * point_bytes()) ||
        !to.incidence.reserve(vertices * kernel_.bytes_per_incidence) ||
        !to.facet_numbers.reserve(facets * sizeof(int32_t)) ||
        !to.offsets.reserve((regions + 1) * sizeof(int64_t)) ||
        !to.facet_offsets.reserve((regions + 1) * sizeof(int64_t)) || !begin_offsets(to))
        throw std::bad_alloc();
    for (auto& [task, part] : parts) {
        append(*part, to);
        add_decisions(*part, to);
        part.reset();
    }
}

void Run::run(int32_t threads, RegionResult* result) {
    const Owned main(kernel_, problem_, stop_, true);
    if (!main.subdivision) throw std::bad_alloc();
    std::vector<Worker> workers(size_t(std::max(threads, 1)));
    RegionOutput& first = workers[0].all;
    if (!begin_offsets(first)) throw std::bad_alloc();
    tasks_ = main.subdivision;
    n_tasks_ = kernel_.prepare(main.subdivision, &first);
    if (problem_.sink.take) first.hand_over_at = problem_.sink.batch;
    found_.assign(size_t(n_tasks_), -1);
    threads = int32_t(std::min<int64_t>(threads, n_tasks_));
    separate_ = threads > 1 && n_tasks_ > 1 && !counting();
    // Threads cost more than a small subdivision.
    work(main.subdivision, workers[0], threads > 1 ? 2000 : INT64_MAX);
    if (threads > 1 && next_ < n_tasks_) {
        std::vector<std::thread> others;
        try {
            for (int32_t i = 1; i < threads; ++i)
                others.emplace_back([this, &worker = workers[size_t(i)]] {
                    const Owned own(kernel_, problem_, stop_, false);
                    if (own.subdivision) work(own.subdivision, worker, INT64_MAX);
                });
        } catch (const std::system_error&) {  // no more threads: those that there are do the work
        }
        work(main.subdivision, workers[0], INT64_MAX);
        for (std::thread& thread : others) thread.join();
    }

    RegionOutput& to = result->regions;
    if (separate_)
        join(workers, to);
    else
        take(first, to);
    for (const Worker& worker : workers) {
        add_decisions(worker.all, to);
        if (&worker.all != &first) to.regions += worker.all.regions;  // counts
    }
    result->stopped = Stop(stop_.value.load());
    const bool whole = result->stopped == Stop::none || result->stopped == Stop::asked;
    if (whole && problem_.sink.take && to.regions > 0 && !hand_over(problem_.sink, to))
        result->stopped = Stop::asked;
    result->complete = result->stopped == Stop::none && (limit_ == 0 || to.regions <= limit_);
    if (limit_ > 0 && to.regions > limit_) {
        to.regions = limit_;
        if (!counting()) {
            if (problem_.wanted == Wanted::vertices)
                to.vertices = static_cast<int64_t*>(to.offsets.data)[limit_];
            if (kernel_.facets > 0) to.facets = static_cast<int64_t*>(to.facet_offsets.data)[limit_];
        }
    }
}

}  // namespace

void find_regions(const RegionKernel& kernel, const RegionProblem& problem, int32_t threads,
                  int64_t limit, bool (*poll)(void*), void* poll_data, RegionResult* result) {
    StopSignal stop;
    stop.poll = poll;
    stop.poll_data = poll_data;
    Run(kernel, problem, limit, stop).run(threads, result);
}

}  // namespace pellucid
