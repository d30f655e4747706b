#include "diagnosis/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/cause_votes.h"
#include "diagnosis/describe.h"
#include "diagnosis/differing_attributes.h"
#include "diagnosis/exceptions.h"
#include "diagnosis/isolated_stage.h"
#include "diagnosis/repair_search.h"
#include "shape_reduction/input_choice.h"

namespace planproof::diagnosis {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::AxisId;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kMaxSeeds = 6;
constexpr double kRounding = 1e-13;

using Clock = shape_reduction::WorkClock;

// Sums, moves and collectives: what they make is of the scale of what they read.
bool OnlyAdds(const sdfg::IndexFunction& function) {
  return std::none_of(function.nodes.begin(), function.nodes.end(), [](const sdfg::Node& node) {
    switch (node.op) {
      case sdfg::Op::kMul:
      case sdfg::Op::kDiv:
      case sdfg::Op::kPow:
      case sdfg::Op::kExp:
      case sdfg::Op::kLog:
      case sdfg::Op::kErf:
      case sdfg::Op::kSin:
      case sdfg::Op::kCos:
        return true;
      default:
        return false;
    }
  });
}

class Diagnosis {
 public:
  Diagnosis(const lineage::Problem& problem, const shape_reduction::Witness& witness,
            const std::vector<char>& trusted, shape_reduction::Replay& replay)
      : problem_(problem),
        graph_(problem.parallel),
        trusted_(trusted),
        replay_(replay),
        lineage_(problem.lineage),
        root_(problem.required[witness.required].parallel) {
    lineage_.resize(graph_.tensors.size());
    lineage_[root_] = problem.required[witness.required].lineage;
  }

  const std::vector<Lineage>& lineage() const { return lineage_; }
  std::vector<Fault> Faults(size_t most);
  // How large the numbers of this run are: before Causes.
  void Measure();
  // False if the tensor is right on these inputs, or rounding and nothing else.
  bool Causes(TensorId tensor, std::vector<RepairSearch::Cause>* causes);
  // The instances that are wrong on the inputs of the last run, too: on some inputs the values of
  // two ranks are equal by chance.
  void AddInstances(Fault* fault);

 private:
  enum class State : uint8_t { kUnknown, kHolds, kDeviates, kTainted };
  void Classify();
  bool IsRounding(TensorId id);
  std::string Example(const Values& claimed, const Values& actual, TensorId tensor,
                      const std::vector<int64_t>& index) const;
  void FillInstances(TensorId tensor, Fault* fault);
  bool VariesTo(const sdfg::Tensor& tensor, sdfg::Device device) const;

  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  const std::vector<char>& trusted_;
  shape_reduction::Replay& replay_;
  std::vector<Lineage> lineage_;
  TensorId root_;
  std::vector<State> state_;
  // By parallel tensor: how large the numbers are of whose rounding its values may consist. Its
  // own, or, where it is zero up to their rounding, those that it is made from.
  std::vector<double> magnitude_;
  std::vector<TensorId> first_;  // deviate while nothing they are made from does
};

// A tensor that is zero up to the rounding of what it is made from, on both sides: such as the
// gradient of a bias that shifts all of a softmax's operands alike.
bool Diagnosis::IsRounding(TensorId id) {
  if (replay_.enclosed()) return false;
  const Values claimed = replay_.Claimed(graph_.tensors[id].shape, lineage_[id]);
  const double own = Largest(replay_.Parallel(id));
  return magnitude_[id] > own && magnitude_[id] * kRounding > Largest(claimed);
}

void Diagnosis::Measure() {
  magnitude_.assign(graph_.tensors.size(), 0);
  if (replay_.enclosed()) return;  // enclosures hold all rounding
  std::vector<double> largest(graph_.tensors.size());
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    magnitude_[t] = largest[t] = Largest(replay_.Parallel(static_cast<TensorId>(t)));
  }
  for (const sdfg::Operator& op : graph_.operators) {
    const bool adds = OnlyAdds(*op.function);
    double operands = 0;
    for (const TensorId id : op.inputs) {
      operands = std::max(operands, adds ? magnitude_[id] : largest[id]);
    }
    for (TensorId id : op.outputs) {
      if (id != kNone && magnitude_[id] < kRounding * operands) magnitude_[id] = operands;
    }
  }
}

void Diagnosis::Classify() {
  state_.assign(graph_.tensors.size(), State::kUnknown);
  Measure();
  std::vector<TensorId> candidates;
  for (const sdfg::Operator& op : graph_.operators) {
    const bool tainted = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
      return state_[t] == State::kDeviates || state_[t] == State::kTainted;
    });
    for (TensorId id : op.outputs) {
      if (id == kNone || replay_.Parallel(id) == nullptr) continue;
      state_[id] = tainted ? State::kTainted : State::kHolds;
      if (trusted_[id]) continue;
      if (lineage_[id].kind != LineageKind::kFull) continue;
      if (replay_.Claimed(graph_.tensors[id].shape, lineage_[id]) == nullptr) continue;
      if (replay_.Holds(id, lineage_[id], Agree) || IsRounding(id)) {
        // Enclosures that meet do not say that what is made from wrong values is right.
        if (!replay_.enclosed()) state_[id] = State::kHolds;
      } else {
        state_[id] = State::kDeviates;
        if (!tainted) candidates.push_back(id);
      }
    }
  }
  // Only what reaches the refuted output through values that are wrong.
  std::vector<bool> reached(graph_.tensors.size(), false);
  reached[root_] = true;
  for (size_t o = graph_.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph_.operators[o];
    if (!std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](TensorId t) { return t != kNone && reached[t]; })) {
      continue;
    }
    for (TensorId t : op.inputs) {
      reached[t] = reached[t] || state_[t] == State::kDeviates || state_[t] == State::kTainted;
    }
  }
  // Replicas of a wrong tensor are wrong alike, also where another output rests on them.
  std::set<TensorId> logical;
  for (TensorId id : candidates) {
    if (reached[id]) logical.insert(lineage_[id].logical);
  }
  for (TensorId id : candidates) {
    if (logical.count(lineage_[id].logical) > 0) first_.push_back(id);
  }
}

// "x[3] on tp=0 is 1.5, the model's is 2", with as many digits as tell them apart.
std::string Diagnosis::Example(const Values& claimed, const Values& actual, TensorId id,
                               const std::vector<int64_t>& index) const {
  std::string is, model;
  for (const int digits : {6, 17}) {
    is = replay_.Text(actual, index, digits);
    model = replay_.Text(claimed, index, digits);
    if (is != model) break;
  }
  return absl::StrCat(DescribeElement(graph_, id, index), " is ", is, ", the model's is ", model);
}

// Whether the device is one at another coordinate of an axis over which the tensor varies.
bool Diagnosis::VariesTo(const sdfg::Tensor& tensor, sdfg::Device device) const {
  for (sdfg::AxisId axis : tensor.axes) {
    const int64_t stride = axis < static_cast<sdfg::AxisId>(graph_.axis_device_stride.size())
                               ? graph_.axis_device_stride[axis]
                               : 0;
    const int64_t away = device - tensor.device;
    if (stride > 0 && away > 0 && away / stride % graph_.axes[axis].extent != 0) return true;
  }
  return false;
}

// Adds the devices and microbatches at which the tensor deviates.
void Diagnosis::FillInstances(TensorId id, Fault* fault) {
  const sdfg::Tensor& tensor = graph_.tensors[id];
  const Values claimed = replay_.Claimed(tensor.shape, lineage_[id]);
  const Values& actual = replay_.Parallel(id);
  double largest = 0;
  ForEachPair(claimed, actual, [&](const auto&, double x, double y) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    if (std::isfinite(y)) largest = std::max(largest, std::fabs(y));
    return true;
  });
  double worst = 0;
  std::vector<std::set<int64_t>> wrong(tensor.axes.size());
  ForEachPair(claimed, actual, [&](const std::vector<int64_t>& index, double x, double y) {
    const double size = std::fabs(x - y);
    const bool same = replay_.enclosed() ? !replay_.Apart(claimed, actual, index)
                                         : x == y || size <= 1e-8 * largest;
    if (same) return true;
    for (size_t a = 0; a < tensor.axes.size(); ++a) wrong[a].insert(index[a]);
    if (!replay_.enclosed() && std::isnan(y) && std::isfinite(x) && fault->tensors[0] == id &&
        fault->example.empty()) {
      fault->example =
          absl::StrCat(DescribeElement(graph_, id, index), " has no value, the model's is ", x);
    }
    if (size > worst || (replay_.enclosed() && fault->example.empty())) {
      worst = std::max(worst, size);
      if (fault->tensors[0] == id) fault->example = Example(claimed, actual, id, index);
    }
    return true;
  });
  std::vector<int64_t> devices;
  if (tensor.device >= 0) devices.push_back(tensor.device);
  if (tensor.producer != kNone && !graph_.operators[tensor.producer].lifted) {
    // What a collective along an axis makes is on all its participants.
    for (sdfg::Device device : graph_.operators[tensor.producer].devices) {
      if (device != tensor.device && !VariesTo(tensor, device)) devices.push_back(device);
    }
  }
  for (size_t a = 0; a < tensor.axes.size(); ++a) {
    // A block that is wrong stands for all of its coordinates.
    std::set<int64_t> all;
    for (int64_t c = 0; c < std::min(tensor.shape[a], kMaxInstances); ++c) {
      for (int64_t w : wrong[a]) {
        if (claimed->dims[a]->BlockOf(c) == claimed->dims[a]->BlockOf(w) &&
            actual->dims[a]->BlockOf(c) == actual->dims[a]->BlockOf(w)) {
          all.insert(c);
        }
      }
    }
    const sdfg::AxisId axis = tensor.axes[a];
    const int64_t stride = axis < static_cast<sdfg::AxisId>(graph_.axis_device_stride.size())
                               ? graph_.axis_device_stride[axis]
                               : 0;
    if (stride != 0 && !devices.empty()) {
      std::vector<int64_t> shifted;
      for (int64_t c : all) {
        for (int64_t device : devices) {
          if (shifted.size() < static_cast<size_t>(kMaxInstances))
            shifted.push_back(device + c * stride);
        }
      }
      devices = std::move(shifted);
    }
    if (graph_.axes[axis].kind == sdfg::AxisKind::kMicrobatch) {
      fault->at_microbatches.insert(all.begin(), all.end());
      fault->of_microbatches = tensor.shape[a];
    }
  }
  for (int64_t device : devices) fault->devices.push_back(static_cast<int>(device));
}

std::vector<Fault> Diagnosis::Faults(size_t most) {
  Classify();
  std::vector<Fault> faults;
  for (TensorId id : first_) {
    const TensorId logical = lineage_[id].logical;
    auto same = std::find_if(faults.begin(), faults.end(),
                             [&](const Fault& f) { return f.logical == logical; });
    if (same == faults.end()) {
      if (faults.size() == most) continue;
      faults.emplace_back();
      same = faults.end() - 1;
      same->logical = logical;
    }
    same->tensors.push_back(id);
    same->lineages.push_back(lineage_[id]);
  }
  for (Fault& fault : faults) {
    for (TensorId id : fault.tensors) {
      std::vector<OperatorId> stage = StageOf(graph_, lineage_, id);
      for (size_t o = stage.size(); o-- > 0;) {
        if (std::find(fault.operators.begin(), fault.operators.end(), stage[o]) ==
            fault.operators.end()) {
          fault.operators.push_back(stage[o]);
        }
      }
      FillInstances(id, &fault);
    }
    std::sort(fault.devices.begin(), fault.devices.end());
    fault.devices.erase(std::unique(fault.devices.begin(), fault.devices.end()),
                        fault.devices.end());
  }
  return faults;
}

void Diagnosis::AddInstances(Fault* fault) {
  Fault other = *fault;
  other.devices.clear();
  for (const TensorId id : fault->tensors) {
    const bool known = replay_.Parallel(id) != nullptr &&
                       replay_.Claimed(graph_.tensors[id].shape, lineage_[id]) != nullptr;
    if (known && !replay_.Holds(id, lineage_[id], Agree)) FillInstances(id, &other);
  }
  std::set<int> devices(fault->devices.begin(), fault->devices.end());
  devices.insert(other.devices.begin(), other.devices.end());
  fault->devices.assign(devices.begin(), devices.end());
  fault->at_microbatches.insert(other.at_microbatches.begin(), other.at_microbatches.end());
}

bool Diagnosis::Causes(TensorId tensor, std::vector<RepairSearch::Cause>* causes) {
  std::vector<OperatorId> stage = StageOf(graph_, lineage_, tensor);
  const std::vector<OperatorId> before =
      replay_.enclosed() ? SinceExceptions(graph_, stage, tensor) : std::vector<OperatorId>{};
  RepairSearch repairs(problem_, replay_, {tensor, lineage_[tensor], std::move(stage)});
  if (!repairs.usable() || replay_.Same(repairs.actual(), repairs.claimed(), Agree) ||
      IsRounding(tensor)) {
    return false;
  }
  if (!before.empty()) {
    *causes = RepairSearch(problem_, replay_, {tensor, lineage_[tensor], before}).RunExceptions();
  }
  if (causes->empty()) *causes = repairs.Run();
  return true;
}

// On some inputs a place is not seen, because it has too many blocks or is right.
bool AreAt(TensorId place, const std::vector<Fault>& faults) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return std::count(fault.tensors.begin(), fault.tensors.end(), place) > 0;
  });
}

// `unexplained`: faults for which enclosures, and their stages by themselves, showed no cause.
// Other inputs seldom do, and take a while where nothing fits.
std::vector<Fault> DiagnoseBy(shape_reduction::Replay& replay, const lineage::Problem& problem,
                              const shape_reduction::Witness& witness,
                              const std::vector<char>& trusted, size_t most, double seconds,
                              const std::vector<Fault>& unexplained) {
  // Everything, also what nothing reads: it may have been forgotten.
  if (!replay.Run(witness.seed, {}, seconds).ok() &&
      !replay.Run(witness.seed, {problem.required[witness.required].parallel}, seconds).ok()) {
    return {};
  }
  Diagnosis diagnosis(problem, witness, trusted, replay);
  std::vector<Fault> faults = diagnosis.Faults(most);
  std::vector<CauseVotes> votes(faults.size());
  const Clock::time_point start = Clock::now();
  const auto experiment = [&] {
    diagnosis.Measure();
    for (size_t f = 0; f < faults.size(); ++f) {
      std::vector<RepairSearch::Cause> found;
      if (!diagnosis.Causes(faults[f].tensors[0], &found)) continue;
      diagnosis.AddInstances(&faults[f]);
      votes[f].Add(std::move(found));
    }
  };
  const auto settled = [&] {
    return std::all_of(votes.begin(), votes.end(), [&](const CauseVotes& v) {
      return v.Settled() || (!unexplained.empty() && v.FoundNothing());
    });
  };
  // Tame inputs, under which rounding stays far from the differences.
  uint64_t seed = witness.seed;
  for (int k = 0; k < (replay.enclosed() ? 1 : kMaxSeeds) && !settled(); ++seed) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    const shape_reduction::ChoiceOptions choice = shape_reduction::OptionsOfSeed(seed);
    if (!replay.enclosed() && (choice.literals || choice.wild)) continue;
    if (!replay.Run(seed, {}, seconds).ok()) break;
    ++k;
    experiment();
  }
  // Where few of them tell the two apart, the witness and others of its kind.
  const auto seen = [&] {
    int most = votes.empty() ? CauseVotes::kEnough : 0;
    for (const CauseVotes& v : votes) most = std::max(most, v.wrong());
    return most;
  };
  constexpr uint64_t kKinds = 4;  // OptionsOfSeed
  for (uint64_t k = 0; k <= kMaxSeeds && seen() < CauseVotes::kEnough && !settled(); ++k) {
    const bool late = std::chrono::duration<double>(Clock::now() - start).count() > seconds;
    if ((late && k > 0) || (replay.enclosed() && seen() > 0)) break;
    if (!replay.Run(witness.seed + kKinds * k, {}, seconds).ok()) break;
    experiment();
    if (replay.enclosed()) break;
  }
  for (size_t f = 0; f < faults.size(); ++f) {
    Fault& fault = faults[f];
    std::vector<RepairSearch::Cause> causes = votes[f].Elected();
    // Of enclosures there is but one run, in which much fits by chance.
    const bool unclear = replay.enclosed() || causes.empty() || causes[0].only_where;
    if (unclear && !AreAt(fault.tensors[0], unexplained)) {
      std::vector<RepairSearch::Cause> isolated =
          CausesInIsolation(problem, diagnosis.lineage(), fault.tensors[0], seconds);
      if (!isolated.empty()) {
        fault.of_stage_alone = causes.empty();
        causes = std::move(isolated);
      }
    }
    const bool all = static_cast<int64_t>(fault.at_microbatches.size()) == fault.of_microbatches;
    fault.microbatches = all ? "all" : absl::StrJoin(fault.at_microbatches, ", ");
    NameCauses(problem, causes, &fault);
    if (fault.cause.empty()) {
      fault.cause = AttributesThatDiffer(problem, fault.logical, fault.operators);
    }
  }
  return faults;
}

}  // namespace

std::vector<Fault> Diagnose(const lineage::Problem& problem,
                            const shape_reduction::Witness& witness,
                            const std::vector<char>& trusted, size_t most, double seconds) {
  using shape_reduction::Replay;
  const auto by = [&](Replay&& replay, const std::vector<Fault>& unexplained) {
    return DiagnoseBy(replay, problem, witness, trusted, most, seconds, unexplained);
  };
  if (witness.evaluation == nullptr) return by(Replay(problem, trusted), {});
  // Of few blocks, where numbers take a while: these only where enclosures do not say enough.
  std::vector<Fault> enclosed = by(Replay(problem, witness.evaluation), {});
  const bool explained = AreAt(witness.focus, enclosed) &&
                         std::none_of(enclosed.begin(), enclosed.end(),
                                      [](const Fault& fault) { return fault.cause.empty(); });
  if (explained || !witness.numbers_explain) return enclosed;
  std::vector<Fault> unexplained = enclosed;
  std::erase_if(unexplained, [](const Fault& fault) { return !fault.cause.empty(); });
  std::vector<Fault> faults = by(Replay(problem, trusted), unexplained);
  return enclosed.empty() || AreAt(witness.focus, faults) ? faults : enclosed;
}

}  // namespace planproof::diagnosis
