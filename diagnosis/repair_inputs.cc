// Repairs about what a stage reads: inputs held in another layout than is needed, a tensor in
// place of one that is near, steps in the wrong order, results that nothing reads.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"
#include "shape_reduction/work_clock.h"

namespace planproof::diagnosis {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr double kInputSeconds = 0.25;  // of one run of each
constexpr OperatorId kMaxBefore = 256;  // operators before one whose results it may have meant
constexpr size_t kMaxNear = 24;         // candidates for one operand
constexpr size_t kMaxUnread = 6;
constexpr size_t kMaxInputs = 16;

using Clock = shape_reduction::WorkClock;

Clock::time_point Deadline() {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kInputSeconds));
}

// A dimension of which each rank of an axis holds an equal part.
struct CutDimension {
  TensorId tensor = kNone;
  size_t dimension = 0;  // of the logical tensor
  int32_t axis_dim = 0, local_dim = 0;
  int64_t ranks = 0, length = 0;
};

// In each of `blocks` equal blocks of the dimension the rank holds its part: 1 is one contiguous
// part, `length` blocks are every ranks-th element.
lineage::IndexMap InBlocks(const CutDimension& cut, int64_t blocks) {
  const int64_t part = cut.length / blocks;
  lineage::IndexMap map;
  map.terms.push_back({.dim = cut.axis_dim, .scale = part});
  if (blocks > 1) {
    map.terms.push_back({.dim = cut.local_dim, .scale = part * cut.ranks, .div = part});
  }
  if (part > 1) map.terms.push_back({.dim = cut.local_dim, .mod = blocks > 1 ? part : 0});
  return map;
}

// The index of the logical tensor at each rank and local index.
std::vector<int64_t> Places(const CutDimension& cut, const lineage::IndexMap& map) {
  std::vector<int64_t> places;
  for (int64_t rank = 0; rank < cut.ranks; ++rank) {
    for (int64_t i = 0; i < cut.length; ++i) {
      int64_t at = map.constant;
      for (const lineage::IndexTerm& term : map.terms) {
        at += term.scale * term.At(term.dim == cut.axis_dim ? rank : i);
      }
      places.push_back(at);
    }
  }
  return places;
}

std::string LayoutText(const CutDimension& cut, int64_t blocks) {
  if (blocks == 1) return "one contiguous part";
  if (blocks < cut.length) return absl::StrCat("its part of each of ", blocks, " equal blocks");
  return absl::StrCat("one index in ", cut.ranks, ", from its number on,");
}

}  // namespace

// Inputs that the plan's devices hold are cut in another way than the stage needs, one or all that
// are cut alike.
void RepairSearch::TryLayouts() {
  constexpr int64_t kMaxLength = 4096;
  const Clock::time_point deadline = Deadline();
  std::set<TensorId> inputs;
  for (const OperatorId id : subject_.operators) {
    for (const TensorId input : graph_.operators[id].inputs) {
      if (graph_.tensors[input].producer == kNone && inputs.size() < kMaxInputs) {
        inputs.insert(input);
      }
    }
  }
  std::map<std::pair<sdfg::AxisId, int64_t>, std::vector<CutDimension>> cut_alike;
  for (const TensorId input : inputs) {
    const sdfg::Tensor& tensor = graph_.tensors[input];
    const lineage::Lineage& held = problem_.lineage[input];
    if (held.kind != LineageKind::kFull || sdfg::IsInteger(tensor.dtype)) continue;
    for (size_t d = 0; d < held.map.size(); ++d) {
      CutDimension cut{.tensor = input, .dimension = d, .axis_dim = -1, .local_dim = -1};
      bool plain = true;
      for (const lineage::IndexTerm& term : held.map[d].terms) {
        int32_t& at =
            term.dim < static_cast<int32_t>(tensor.axes.size()) ? cut.axis_dim : cut.local_dim;
        plain = plain && (at < 0 || at == term.dim) && !term.gated();
        at = term.dim;
      }
      if (!plain || cut.axis_dim < 0 || cut.local_dim < 0) continue;
      cut.ranks = tensor.shape[cut.axis_dim];
      cut.length = tensor.shape[cut.local_dim];
      if (cut.ranks < 2 || cut.length < 2 || cut.length > kMaxLength ||
          cut.ranks * cut.length != problem_.logical.tensors[held.logical].shape[d]) {
        continue;
      }
      const std::vector<int64_t> now = Places(cut, held.map[d]);
      for (int64_t blocks = 1; blocks <= cut.length; ++blocks) {
        if (cut.length % blocks != 0 || Places(cut, InBlocks(cut, blocks)) != now) continue;
        // Every rank-th element is that for any length.
        const int64_t alike = blocks > 1 && blocks == cut.length ? 0 : blocks;
        cut_alike[{tensor.axes[cut.axis_dim], alike}].push_back(cut);
        break;
      }
    }
  }
  const auto right = [&](const std::vector<CutDimension>& cuts, int64_t blocks) {
    Changes changes;
    for (const CutDimension& cut : cuts) {
      if (blocks > 0 && cut.length % blocks != 0) return false;
      lineage::Lineage other = problem_.lineage[cut.tensor];
      other.map[cut.dimension] = InBlocks(cut, blocks > 0 ? blocks : cut.length);
      Values value = replay_.Claimed(graph_.tensors[cut.tensor].shape, other);
      changes.tensors[cut.tensor] = [value](const Values&) { return value; };
    }
    return Agree(RunStage(changes), claimed_);
  };
  for (const auto& [layout, cuts] : cut_alike) {
    const auto& [axis, alike] = layout;
    std::vector<std::vector<CutDimension>> choices;
    for (const CutDimension& cut : cuts) choices.push_back({cut});
    if (cuts.size() > 1) choices.push_back(cuts);
    for (const std::vector<CutDimension>& choice : choices) {
      const int64_t length = choice[0].length;
      // In 1, 2, ... blocks; every ranks-th element, which is that for any length, comes last.
      for (int64_t n = 1; n <= length; ++n) {
        const int64_t blocks = n == length ? 0 : n;
        if (Clock::now() > deadline) return;
        if (blocks == alike || length % n != 0 || !right(choice, blocks)) continue;
        std::vector<std::string> names;
        for (const CutDimension& cut : choice) names.push_back(graph_.tensors[cut.tensor].name);
        const CutDimension& cut = choice[0];
        Found(absl::StrCat("input", names.size() > 1 ? "s " : " ", absl::StrJoin(names, " and "),
                           ": a rank of ", graph_.axes[axis].name, " holds ",
                           LayoutText(cut, alike > 0 ? alike : cut.length), " along dimension ",
                           cut.dimension, "; ", LayoutText(cut, n), " would be right"));
        causes_.back().about = "layout";
      }
    }
  }
}

// An operator reads a tensor in place of one that is made near it.
void RepairSearch::TryNearOperands() {
  const Clock::time_point deadline = Deadline();
  for (size_t o = subject_.operators.size(); o-- > 0;) {
    const OperatorId id = subject_.operators[o];
    const sdfg::Operator& op = graph_.operators[id];
    std::vector<TensorId> near;  // nearest first
    std::set<TensorId> seen(op.outputs.begin(), op.outputs.end());
    for (OperatorId other = id; other-- > 0 && other + kMaxBefore >= id;) {
      for (const auto* list : {&graph_.operators[other].outputs, &graph_.operators[other].inputs}) {
        for (const TensorId t : *list) {
          if (t != kNone && seen.insert(t).second) near.push_back(t);
        }
      }
    }
    for (size_t k = 0; k < op.inputs.size() && k < 8; ++k) {
      const sdfg::Tensor& read = graph_.tensors[op.inputs[k]];
      if (sdfg::IsInteger(read.dtype)) continue;
      size_t tried = 0;
      for (const TensorId candidate : near) {
        const sdfg::Tensor& tensor = graph_.tensors[candidate];
        if (candidate == op.inputs[k] || tensor.shape != read.shape || tensor.axes != read.axes ||
            tensor.device != read.device || tensor.name == read.name ||
            sdfg::IsInteger(tensor.dtype)) {
          continue;
        }
        if (++tried > kMaxNear) break;
        if (Clock::now() > deadline) return;
        const Values& value = replay_.Parallel(candidate);
        if (value == nullptr || !Agree(WithOperand(id, static_cast<int>(k), value), claimed_)) {
          continue;
        }
        Found(absl::StrCat(Name(id), " reads ", read.name, " in place of ", tensor.name), id);
        return;
      }
    }
  }
}

// Two steps, of which the second reads the first's result, should run the other way round.
void RepairSearch::TryExchangedSteps() {
  const Clock::time_point deadline = Deadline();
  for (const OperatorId second : subject_.operators) {
    const sdfg::Operator& after = graph_.operators[second];
    for (size_t k = 0; k < after.inputs.size(); ++k) {
      const OperatorId first = graph_.tensors[after.inputs[k]].producer;
      if (!std::binary_search(subject_.operators.begin(), subject_.operators.end(), first)) {
        continue;
      }
      const sdfg::Operator& before = graph_.operators[first];
      if (before.outputs.size() != 1 || after.outputs.size() != 1) continue;
      const sdfg::Tensor& between = graph_.tensors[after.inputs[k]];
      const sdfg::Tensor& result = graph_.tensors[after.outputs[0]];
      if (between.shape != result.shape || between.axes != result.axes) continue;
      for (size_t j = 0; j < before.inputs.size(); ++j) {
        const sdfg::Tensor& start = graph_.tensors[before.inputs[j]];
        if (start.shape != between.shape || start.axes != between.axes ||
            before.function == after.function) {
          continue;
        }
        if (Clock::now() > deadline) return;
        sdfg::Operator early = after, late = before;
        early.inputs[k] = before.inputs[j];
        early.outputs = before.outputs;
        late.inputs[j] = before.outputs[0];
        late.outputs = after.outputs;
        // What the later step reads besides must be there already.
        const bool ready = std::none_of(early.inputs.begin(), early.inputs.end(), [&](TensorId t) {
          return graph_.tensors[t].producer >= first;
        });
        if (!ready || !Agree(RunStage({.operators = {{first, early}, {second, late}}}), claimed_)) {
          continue;
        }
        Found(absl::StrCat(Name(first), " runs before ", Name(second),
                           "; the other way round it would be right"),
              first);
        return;
      }
    }
  }
}

// What is computed and read by nothing is what is missing.
void RepairSearch::TryUnread() {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  std::vector<bool> read(graph_.tensors.size(), false);
  for (const sdfg::Operator& op : graph_.operators) {
    for (const TensorId input : op.inputs) read[input] = true;
  }
  for (const lineage::RequiredRelation& required : problem_.required) {
    read[required.parallel] = true;
  }
  std::vector<TensorId> unread;
  std::vector<std::vector<double>> terms;
  for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors.size()); ++t) {
    const sdfg::Tensor& tensor = graph_.tensors[t];
    if (read[t] || t == subject_.tensor || tensor.producer == kNone || tensor.shape != self.shape ||
        tensor.axes != self.axes || tensor.device != self.device || sdfg::IsInteger(tensor.dtype) ||
        replay_.Parallel(t) == nullptr) {
      continue;
    }
    if (unread.size() == kMaxUnread) return;
    unread.push_back(t);
    terms.push_back(AtPoints(replay_.Parallel(t)));
  }
  for (uint32_t chosen = 1; chosen < (uint32_t{1} << unread.size()); ++chosen) {
    std::vector<double> sum(points_.size(), 0), with_actual = actual_at_;
    std::vector<std::string> names;
    for (size_t u = 0; u < unread.size(); ++u) {
      if ((chosen >> u & 1) == 0) continue;
      names.push_back(graph_.tensors[unread[u]].name);
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += terms[u][i];
        with_actual[i] += terms[u][i];
      }
    }
    const std::string what = absl::StrJoin(names, " and ");
    if (AgreeNumbers(with_actual, claimed_at_)) {
      Found(absl::StrCat("contribution of ", what, ", which nothing reads, missing"));
      return;
    }
    if (AgreeNumbers(sum, claimed_at_)) {
      Found(absl::StrCat("it should be ", names.size() > 1 ? "the sum of " : "", what,
                         ", which nothing reads"));
      return;
    }
  }
}

}  // namespace planproof::diagnosis
