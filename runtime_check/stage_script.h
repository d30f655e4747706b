// Writes one stage of a plan that is wrong as a Python script that runs in NumPy alone.
//
// The stage ends with a tensor of the plan that differs from the model's although what it is
// computed from does not, on given inputs. The script computes it both ways from the values that
// the stage starts with: as the model does, and as the plan does on all its devices.
#ifndef PLANPROOF_RUNTIME_CHECK_STAGE_SCRIPT_H_
#define PLANPROOF_RUNTIME_CHECK_STAGE_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "witness/npz_file.h"

namespace planproof::runtime_check {

struct StageScript {
  std::string python;                     // loads the arrays from a file named like itself, .npz
  std::vector<witness::NpzArray> arrays;  // what the stage starts with
};

// A tensor of the plan that is said to be the model's at a map.
struct StageBoundary {
  sdfg::TensorId parallel = sdfg::kNone, logical = sdfg::kNone;
  std::vector<sdfg::IndexMap> map;
};

// The problem with those of the relations that are none of its own yet and that a replay on these
// inputs confirms: stages that start with them are shorter.
absl::StatusOr<lineage::Problem> WithConfirmed(const lineage::Problem& problem,
                                               const std::vector<StageBoundary>& boundaries,
                                               const Inputs& inputs, Programs* programs);

// `title`: what is said of the stage, one line. `stage`: the model's tensor that it should be, if
// there is one of that name that differs; else the first that differs. NotFound if on these inputs
// nothing does; Unimplemented if what makes the tensor cannot be written in NumPy; else as Replay.
absl::StatusOr<StageScript> WriteStageScript(const lineage::Problem& problem, const Inputs& inputs,
                                             const std::string& stage, const std::string& title,
                                             Programs* programs);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_STAGE_SCRIPT_H_
