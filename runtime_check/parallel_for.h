// Does independent pieces of work on all processors.
#ifndef PLANPROOF_RUNTIME_CHECK_PARALLEL_FOR_H_
#define PLANPROOF_RUNTIME_CHECK_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

namespace planproof::runtime_check {

// Calls f(i) for each i below count, in any order, on as many threads as there are processors; they
// have ended on return. `f` must not touch what another call changes, and does not throw.
void ParallelFor(size_t count, const std::function<void(size_t)>& f);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_PARALLEL_FOR_H_
