// Holds what follows from a proof for the tensors that ranks hold, as data (docs/monitor-format.md,
// "Monitors of a proof"): written by `verify --monitors-out`, asserted on a run by ProvedJudge.
#ifndef PLANPROOF_MONITOR_PROVED_MONITORS_H_
#define PLANPROOF_MONITOR_PROVED_MONITORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitor/journal/journal.h"
#include "sdfg/types.h"
#include "monitor/proved/program.h"

namespace planproof::monitor {

// An axis of the mesh; ranks are coordinates in row-major order.
struct ProvedAxis {
  std::string name;
  int64_t extent = 1;
};

// How equal two ranks' copies of one part are.
enum class Sameness : uint8_t {
  kBits,    // they are one collective's result, or computed from such by the same operators
  kAlike,   // the same operators on the same bits, but in collectives of different groups
  kValues,  // equal as real numbers; how they are computed differs
};

// What kind of set, at which moments it is held.
enum class SetKind : uint8_t { kParameter, kGradient, kState, kNumberState };

// What a set is after the step, as a combination of what is held when the optimizer begins.
struct LinearTerm {
  double factor = 0;
  std::string set;  // of the same tensor
};
struct LinearDefinition {
  std::vector<LinearTerm> terms;
  double constant = 0;  // of states that are one number
};

// The mean or sum over ranks of what each contributes: factor times the sum along these axes. A
// factor of one divided by the ranks of the proof is a mean for other numbers of ranks, too.
struct ContributionMonitor {
  double factor = 1;
  std::vector<int32_t> axes;  // positions in ProvedMonitors::axes
};

struct SetMonitor {
  std::string set;  // as journals call it
  SetKind kind = SetKind::kParameter;
  Sameness same = Sameness::kBits;
  int64_t order = 0;           // in which the proof follows tensors from one another
  std::string place;           // "file:line" of what computes it
  bool late = false;           // it arrives on ranks after their optimizers have stepped
  std::vector<int32_t> ranks;  // that hold it; empty: all that hold the tensor
  std::optional<LinearDefinition> definition;
};

struct TensorMonitor {
  std::string name;
  std::vector<int64_t> of;                    // shape of the whole in the proof
  sdfg::DType dtype = sdfg::DType::kUnknown;  // of the parameter in the proof
  // By dimension the axes along which parts differ; ranks that differ along other axes only have
  // the same part. `flat`: the same of a part in row-major order.
  std::vector<std::vector<int32_t>> cut;
  std::optional<std::vector<int32_t>> flat;
  // Ranks by the part that they hold, where axes do not say it: for the world of the proof only.
  std::vector<std::vector<int32_t>> groups;
  std::vector<SetMonitor> sets;
  std::optional<ContributionMonitor> contributions;
  bool clipped = false;  // its gradient is multiplied by the coefficient of ClipMonitor

  bool by_axes() const { return groups.empty(); }
};

// Gradients are multiplied by min(1, bound / (norm + epsilon)), where `norm` is the root of the sum
// of squares of all gradients, each element counted once.
struct ClipMonitor {
  double bound = 0;
  double epsilon = 0;
  int64_t order = 0;
  std::string place;
  bool only_above = false;  // what was proved is of steps whose norm is above the bound
};

// A collective of the proved iteration that parameters, gradients or states depend on.
struct CollectiveMonitor {
  CollectiveKind kind = CollectiveKind::kOther;
  std::vector<int32_t> axes;  // along which its group lies, positions in ProvedMonitors::axes
  sdfg::DType dtype = sdfg::DType::kUnknown;
  int64_t count = 0;           // its results per rank and step in the proof, at most
  std::string place;           // of the first
  std::vector<int32_t> ranks;  // that take part; empty: all
};

struct ProvedMonitors {
  bool anchored = false;
  std::vector<ProvedAxis> axes;
  int64_t world = 1;
  std::vector<TensorMonitor> tensors;  // by name
  std::optional<ClipMonitor> clip;
  std::vector<CollectiveMonitor> collectives;
  std::vector<std::string> assumptions;  // of the verdict, for people
  // Parameters without a monitor, and why.
  std::vector<std::pair<std::string, std::string>> without;
  // What ranks execute, as far as it is relevant, by rank; empty: not known.
  std::vector<RankProgram> programs;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_MONITORS_H_
