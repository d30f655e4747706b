// Runs a model and a plan of it on the same numbers, and says whether they agree.
//
// This is independent of the prover: it rests on index functions and on the relations that the
// specification and the plan state, and on no claim that was proved.
//
// In a narrow type rounding may hide what is wrong with a plan. So the same inputs, as the type has
// them, are replayed in float64, too: what differs there is wrong with the plan, whatever the type;
// what differs in the type alone is wrong with how it is rounded.
#ifndef PLANPROOF_RUNTIME_CHECK_REPLAY_H_
#define PLANPROOF_RUNTIME_CHECK_REPLAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"
#include "runtime_check/backend.h"
#include "runtime_check/comparison.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"

namespace planproof::runtime_check {

struct ReplayOptions {
  sdfg::DType arithmetic = sdfg::DType::kFloat64;
  Perturbation perturbation = Perturbation::kByElement;
  // Tensors whose relation to the model is known are replaced, once they are compared, by what the
  // model has: so what is computed from them is judged by itself, and a wrong operator alarms where
  // it is and nowhere else. Rounding is then expected of the same part of the model alone.
  bool by_stage = false;
  // Replays the same inputs in float64, too, unless that is the arithmetic.
  bool exact = false;
  int samples = 3;                // runs of the model on perturbed inputs
  double element_limit = 0x1p27;  // elements of both graphs together
  double work_limit = 1e12;       // lane operations of all runs together
  Backend* backend = nullptr;     // computes, if there is one
};

// What was found wrong with a tensor.
enum class Finding : uint8_t {
  kNone,
  kDiffers,         // from the model by more than round-off
  kReplicasDiffer,  // devices that hold the same part hold different values
  kOverlapsDiffer,  // parts that overlap do not agree
  kOmitted,         // no device holds some of a required output
};

// Of the run in float64 beside that in another type.
struct ExactComparison {
  Measure measure;
  double ratio = 0;  // of disagreements, as TensorReport's
  bool alarms = false;
};

struct TensorReport {
  sdfg::TensorId parallel = sdfg::kNone;
  sdfg::TensorId logical = sdfg::kNone;
  std::string required;  // the requirement in words; empty for what only the plan relates
  Measure measure;       // in the arithmetic of the options
  Finding finding = Finding::kNone;  // there or, with `exact`, in float64
  // Of disagreements and omissions: how many elements, the first of them, and for the former the
  // ratio of the differences to expected round-off.
  int64_t elements = 0;
  std::vector<int64_t> index;
  double ratio = 0;
  bool alarms_in_type = false;  // in the arithmetic of the options
  // The same in float64, with ReplayOptions::exact; what is said of a finding that only this run
  // has (elements, index, at, devices) is said of it.
  std::optional<ExactComparison> exact;
  // Where the plan differs, if it does not everywhere, and on which devices.
  std::vector<sdfg::AxisCoordinates> at;
  std::vector<int> devices;
};

struct ReplayReport {
  std::vector<TensorReport> tensors;  // in dataflow order, a required one after what it is
  // The one that alarms of which the model computes its tensor first: a plan may run what follows
  // from a wrong result (the gradient of a loss) before the rest of it.
  int first = -1;
  int alarms = 0;
  int alarms_in_type = 0, alarms_exact = 0;  // of them, by which run
  int64_t undefined =
      0;  // tensors with elements that are NaN in the model, or with none that is finite
  int64_t blind = 0;  // tensors that do not alarm and hardly could (Measure::blind)
  struct {
    double elements = 0, work = 0;
  } cost;
  struct {
    double model = 0, perturbed = 0, plan = 0;
    double exact = 0;  // the whole replay in float64
  } time_s;
};

// `inputs` are in the arithmetic of the options. ResourceExhausted beyond the limits;
// FailedPrecondition where a required output has no value in the model; Unimplemented for what
// cannot be run. `programs` are those that CheckLimits made, or none.
absl::StatusOr<ReplayReport> Replay(const lineage::Problem& problem, const Inputs& inputs,
                                    const ReplayOptions& options, Programs* programs);

// Whether the graphs are within the limits, before inputs are made. Compiles the operators.
absl::Status CheckLimits(const lineage::Problem& problem, const ReplayOptions& options,
                         Programs* programs);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_REPLAY_H_
