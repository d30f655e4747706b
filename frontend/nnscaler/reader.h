// Reads a pair of nnScaler plans, the single-device one and a parallel one, into a Problem.
//
// The single-device plan is the logical graph. What the parallel plan must establish (each
// microbatch's loss, each parameter's gradient on each device that holds it) is fixed here from the
// logical plan and never taken from the parallel one. README.md of this directory has the rules by
// which a plan file is read as a dataflow graph.
#ifndef PLANPROOF_FRONTEND_NNSCALER_READER_H_
#define PLANPROOF_FRONTEND_NNSCALER_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/pickle.h"
#include "frontend/nnscaler/plan_objects.h"
#include "lineage/lineage.h"
#include "sdfg/operator_library.h"

namespace planproof::frontend::nnscaler {

// What decides the order of pieces in a collective: the pieces' index maps (what the file declares)
// or the position of their device in the group (what a runtime does).
enum class CollectiveOrder : uint8_t { kIndexMap, kRank };

struct ReaderOptions {
  CollectiveOrder collective_order = CollectiveOrder::kIndexMap;
  const sdfg::OperatorLibrary* operators = nullptr;  // null: the built-in ones
  PickleLimits limits;
};

// Errors: InvalidArgument, DataLoss, FailedPrecondition, ResourceExhausted: the files are
// malformed, contradict themselves or do not belong together. Unimplemented, NotFound: something in
// them (an operator, a communication primitive) has no declared meaning, nothing can be said.
absl::StatusOr<lineage::Problem> ReadPair(const std::string& logical_path,
                                          const std::string& parallel_path,
                                          const ReaderOptions& options = {});

// The same from plans already decoded.
absl::StatusOr<lineage::Problem> BuildProblem(const Plan& logical, const Plan& parallel,
                                              const ReaderOptions& options = {});

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_READER_H_
