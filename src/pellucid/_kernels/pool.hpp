// Threads: one network a thread, those begun before and then the largest first, from one atomic queue.
//
// Two threads inside one small network never helped, and a static split of mixed widths wastes
// half the time. Each network is computed by one thread alone, so the bits of its result do not
// depend on how many there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch.hpp"

namespace pellucid {

using AnyJob = std::variant<Job<float>, Job<double>>;

class Pool {
public:
    // The jobs must live until the pool is gone. Their `stop` and `progress` are set here.
    Pool(const Kernels& kernels, std::vector<AnyJob>& jobs) : kernels_(kernels), jobs_(jobs) {
        outcomes_.assign(jobs.size(), Outcome{Status::interrupted, 0, 0, 0, -1});
        counters_ = std::make_unique<Counter[]>(jobs.size());
        for (size_t i = 0; i < jobs.size(); ++i) {
            std::visit([&](auto& job) {
                job.stop = &stop_;
                job.progress = &counters_[i].steps;
                counters_[i].steps = steps_before(job);
            }, jobs[i]);
        }
        order_.resize(jobs.size());
        std::iota(order_.begin(), order_.end(), size_t(0));
        // Begun ones first: then no more of them stand open at a time than there are threads.
        const auto rank = [&](size_t i) {
            return std::pair(counters_[i].steps > 0, cost(jobs[i]));
        };
        std::stable_sort(order_.begin(), order_.end(),
                         [&](size_t a, size_t b) { return rank(a) > rank(b); });
    }

    ~Pool() {
        stop();
        for (auto& t : threads_) t.join();
    }

    void start(size_t n_threads) {
        running_ = n_threads;
        threads_.reserve(n_threads);
        for (size_t i = 0; i < n_threads; ++i) {
            try {
                threads_.emplace_back([this] { work(); });
            } catch (const std::system_error&) {
                // The system gives no more threads: those that run do the work, at least one.
                const std::lock_guard lock(mutex_);
                running_ -= n_threads - i;
                if (i == 0) throw;
                break;
            }
        }
    }

    // True when all is done; false after the time is up.
    bool wait(std::chrono::duration<double> time) {
        std::unique_lock lock(mutex_);
        return done_.wait_for(lock, time, [this] { return running_ == 0; });
    }

    void stop() { __atomic_store_n(&stop_, 1, __ATOMIC_RELAXED); }

    int64_t steps_done() const {
        int64_t total = 0;
        for (size_t i = 0; i < jobs_.size(); ++i)
            total += __atomic_load_n(&counters_[i].steps, __ATOMIC_RELAXED);
        return total;
    }

    bool out_of_memory() const { return out_of_memory_; }
    const std::vector<Outcome>& outcomes() const { return outcomes_; }

    template <class Real>
    static int64_t steps_before(const Job<Real>& job) {
        return job.resume.counters ? job.resume.counters[0] : 0;
    }

    // Multiply-adds, and a constant for each tile of rows and each step; in double twice as much.
    template <class Real>
    static double predicted_cost(const Job<Real>& job) {
        double weights = 0;
        for (int l = 0; l < job.n_layers; ++l)
            weights += double(job.widths[l] + 1) * job.widths[l + 1];
        const int64_t n = job.training.n;
        const double rows = double(job.batch_size && job.batch_size < n ? job.batch_size : n);
        const double step = rows * (weights * 3 + 40) + weights * 40 + 1000;
        return double(job.steps - steps_before(job)) * step * (sizeof(Real) / sizeof(float));
    }

private:
    struct alignas(64) Counter {  // a cache line each: threads must not share one
        int64_t steps = 0;
    };

    static double cost(const AnyJob& any) {
        return std::visit([](const auto& job) { return predicted_cost(job); }, any);
    }

    // Memory that grows with what a thread's jobs need; nothing is kept when it grows.
    class Workspace {
    public:
        ~Workspace() { std::free(memory_); }

        void* at_least(size_t need) {
            if (need > held_) {
                std::free(memory_);
                memory_ = std::aligned_alloc(64, (need + 63) / 64 * 64);
                held_ = memory_ ? need : 0;
            }
            return memory_;
        }

    private:
        void* memory_ = nullptr;
        size_t held_ = 0;
    };

    // False where there is no memory for it.
    template <class Real>
    bool run(const Job<Real>& job, Workspace& workspace, Outcome& outcome) const {
        const Kernel<Real>& kernel = kernels_.of<Real>();
        void* memory = workspace.at_least(kernel.workspace_bytes(job));
        if (memory) outcome = kernel.train(job, memory);
        return memory;
    }

    void work() {
        Workspace workspace;
        for (;;) {
            const size_t at = next_.fetch_add(1, std::memory_order_relaxed);
            if (at >= order_.size() || __atomic_load_n(&stop_, __ATOMIC_RELAXED)) break;
            Outcome& outcome = outcomes_[order_[at]];
            const bool ran = std::visit(
                [&](const auto& job) { return run(job, workspace, outcome); }, jobs_[order_[at]]);
            if (!ran) {
                out_of_memory_ = true;
                stop();
                break;
            }
        }
        const std::lock_guard lock(mutex_);
        if (--running_ == 0) done_.notify_all();
    }

    const Kernels kernels_;
    std::vector<AnyJob>& jobs_;
    std::vector<Outcome> outcomes_;
    std::unique_ptr<Counter[]> counters_;
    std::vector<size_t> order_;
    std::vector<std::thread> threads_;
    std::atomic<size_t> next_{0};
    std::atomic<bool> out_of_memory_{false};
    int32_t stop_ = 0;
    size_t running_ = 0;
    std::mutex mutex_;
    std::condition_variable done_;
};

}  // namespace pellucid
