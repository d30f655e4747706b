// Exports what a PROVED problem says of the tensors that ranks hold.
//
// Only required relations that were shown are used, and of these what follows by the form of the
// graphs: which ranks hold the same part, which operators both are computed by, and which results
// are linear combinations of others.
#ifndef PLANPROOF_MONITOR_PROVED_EXPORT_H_
#define PLANPROOF_MONITOR_PROVED_EXPORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "monitor/proved/monitors.h"
#include "stages/result.h"

namespace planproof::monitor {

// What one rank holds of a set of one tensor.
struct ExportedPart {
  int32_t rank = 0;
  sdfg::TensorId before = sdfg::kNone;  // of the plan's graph, at the start; kNone of gradients
  sdfg::TensorId after = sdfg::kNone;
  int32_t required = -1;             // position in Problem::required of the relation of `after`
  std::vector<int64_t> coordinates;  // of the rank, on the axes of `after`
};

// A set of one tensor, in the words of a journal.
struct ExportedSet {
  std::string name;  // of the parameter
  std::string set;   // "parameter", "gradient", "exp_avg"
  SetKind kind = SetKind::kParameter;
  std::vector<int64_t> of;                    // shape of the whole
  sdfg::TensorId model_before = sdfg::kNone;  // of the model's graph
  sdfg::TensorId model_after = sdfg::kNone;
  bool flat = false;                // parts are runs of elements in row-major order
  std::vector<ExportedPart> parts;  // by rank
};

struct ExportRequest {
  std::vector<ExportedSet> sets;
  int32_t world = 1;
  bool force = false;  // export a verdict that is not anchored
  // Tensors of the plan's graph, [first, last), that were computed into memory that was there
  // before (frontend::RecordedProgram::in_place).
  std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>> in_place;
};

// FailedPrecondition, with what to do, if the verdict is not PROVED, rests on assumed relations, or
// is not anchored (unless `force`).
absl::StatusOr<ProvedMonitors> ExportMonitors(const lineage::Problem& problem,
                                              const stages::Result& result,
                                              const ExportRequest& request);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_EXPORT_H_
