#include "frontend/nnscaler/alignment.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/operator_functions.h"

namespace planproof::frontend::nnscaler {
namespace {

// More logical tensors of one name than this are not searched.
constexpr size_t kMaxSameName = 1024;

bool CopiesItsInput(const Node& node) {
  return (node.name == "multiref" || node.name == "identity") && !node.inputs.empty() &&
         node.inputs[0].tensor != kNoIndex;
}

// Origin and uses of a plan's full tensors, from its forward operators on all devices.
class Uses {
 public:
  explicit Uses(const Plan& plan) : plan_(plan) {
    const size_t count = plan.fulls.size();
    copied_from_.assign(count, kNoIndex);
    output_.assign(count, 0);
    is_data_.assign(count, false);
    consumers_.resize(count);
    for (const Node& node : plan.nodes) Add(node);
    // Consumers of a copy are consumers of the original. Copies of copies are few, so repeat.
    bool changed = true;
    int64_t budget = 10'000'000;
    for (int round = 0; changed && round < 64; ++round) {
      changed = false;
      for (size_t f = count; f > 0; --f) {
        const int from = copied_from_[f - 1];
        if (from == kNoIndex || from == static_cast<int>(f - 1)) continue;
        const size_t before = consumers_[from].size();
        budget -= static_cast<int64_t>(consumers_[f - 1].size()) + 1;
        if (budget < 0) return;  // absurdly many copies: gradients of copies stay unaligned
        consumers_[from].insert(consumers_[f - 1].begin(), consumers_[f - 1].end());
        changed = changed || consumers_[from].size() != before;
      }
    }
  }

  // The full tensor whose value `full` has, after following copies.
  int Original(int full) const {
    for (int steps = 0; copied_from_[full] != kNoIndex && steps < 1024; ++steps) {
      full = copied_from_[full];
    }
    return full;
  }
  int OutputPosition(int full) const { return output_[full]; }
  bool IsData(int full) const { return is_data_[full]; }
  // Operators (by name of their first output) and operand positions that use it in the end.
  const std::set<std::pair<std::string, int>>& Consumers(int full) const {
    return consumers_[full];
  }

 private:
  void Add(const Node& node) {
    if (node.kind == NodeKind::kData) {
      for (const NodeOperand& output : node.outputs)
        is_data_[plan_.subs[output.tensor].full] = true;
    }
    if (node.kind != NodeKind::kForward || node.outputs.empty()) return;
    const bool copies = CopiesItsInput(node);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int full = plan_.subs[node.outputs[o].tensor].full;
      output_[full] = static_cast<int>(o);
      if (copies) copied_from_[full] = plan_.subs[node.inputs[0].tensor].full;
    }
    if (copies) return;
    const std::string& name = plan_.FullOf(node.outputs[0].tensor).name;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].tensor == kNoIndex) continue;
      consumers_[plan_.subs[node.inputs[i].tensor].full].emplace(name, static_cast<int>(i));
    }
  }

  const Plan& plan_;
  std::vector<int> copied_from_, output_;
  std::vector<bool> is_data_;
  std::vector<std::set<std::pair<std::string, int>>> consumers_;
};

class Aligner {
 public:
  Aligner(const Plan& logical, const Plan& parallel, int64_t blocks)
      : logical_(logical),
        parallel_(parallel),
        blocks_(blocks),
        logical_uses_(logical),
        parallel_uses_(parallel) {
    for (size_t f = 0; f < logical.fulls.size(); ++f) {
      if (!logical.fulls[f].is_gradient)
        by_name_[logical.fulls[f].name].push_back(static_cast<int>(f));
    }
  }

  absl::StatusOr<Alignment> Run() {
    result_.full.resize(parallel_.fulls.size());
    for (size_t f = 0; f < parallel_.fulls.size(); ++f) {
      const int full = static_cast<int>(f);
      if (parallel_.fulls[f].is_gradient) continue;
      const bool given = parallel_.fulls[f].is_attribute || parallel_uses_.IsData(full);
      absl::Status status = given ? AlignGiven(full) : absl::OkStatus();
      if (!status.ok()) return status;
      if (!given) AlignValue(full);
    }
    for (size_t f = 0; f < parallel_.fulls.size(); ++f) AlignGradient(static_cast<int>(f));
    return std::move(result_);
  }

 private:
  // Whether the shapes differ at most in one dimension, by the factor `blocks`.
  bool Fits(int full, int candidate, int* batch_dim) const {
    const sdfg::Shape& p = parallel_.fulls[full].shape;
    const sdfg::Shape& l = logical_.fulls[candidate].shape;
    *batch_dim = kNoIndex;
    if (p.size() != l.size()) return false;
    for (size_t d = 0; d < p.size(); ++d) {
      if (p[d] == l[d]) continue;
      if (*batch_dim != kNoIndex || l[d] % blocks_ != 0 || p[d] != l[d] / blocks_) return false;
      *batch_dim = static_cast<int>(d);
    }
    return true;
  }

  absl::Status AlignGiven(int full) {
    const FullTensor& tensor = parallel_.fulls[full];
    const bool data = !tensor.is_attribute;
    const auto found = by_name_.find(tensor.name);
    for (int candidate : found == by_name_.end() ? std::vector<int>() : found->second) {
      const FullTensor& other = logical_.fulls[candidate];
      if (other.is_attribute != tensor.is_attribute || logical_uses_.IsData(candidate) != data)
        continue;
      int batch_dim;
      const bool fits = Fits(full, candidate, &batch_dim) && data == (batch_dim != kNoIndex) &&
                        tensor.dtype == other.dtype;
      if (fits || (data && blocks_ == 1 && tensor.shape == other.shape)) {
        result_.full[full] = {candidate, batch_dim};
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "the plans are no pair: ", data ? "input " : "parameter or buffer ", tensor.name, " is ",
          sdfg::DTypeName(other.dtype), ShapeText(other.shape), " in the logical plan and ",
          sdfg::DTypeName(tensor.dtype), ShapeText(tensor.shape), " in the parallel one",
          data ? absl::StrCat(", whose copies and microbatches are ", blocks_,
                              ": one dimension must be that many times smaller")
               : ""));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the plans are no pair: ", data ? "input " : "parameter or buffer ",
                     tensor.name, " is not in the logical plan"));
  }

  void AlignValue(int full) {
    const auto found = by_name_.find(parallel_.fulls[full].name);
    if (found == by_name_.end() || found->second.size() > kMaxSameName) return;
    const int position = parallel_uses_.OutputPosition(parallel_uses_.Original(full));
    FullAlignment best;
    for (const bool use_position : {false, true}) {
      best = FullAlignment();
      bool unique = true;
      for (int candidate : found->second) {
        int batch_dim;
        if (!Fits(full, candidate, &batch_dim)) continue;
        const int original = logical_uses_.Original(candidate);
        if (use_position && logical_uses_.OutputPosition(original) != position) continue;
        if (best.logical != kNoIndex && best.logical != original) unique = false;
        best = {original, batch_dim};
      }
      if (unique) break;
      best = FullAlignment();
    }
    result_.full[full] = best;
  }

  void AlignGradient(int full) {
    const FullAlignment value = result_.full[full];
    const int gradient = parallel_.fulls[full].gradient;
    if (value.logical == kNoIndex || gradient == kNoIndex || parallel_.fulls[full].is_gradient)
      return;
    const FullTensor& original = logical_.fulls[value.logical];
    if (original.is_attribute && parallel_.fulls[full].is_attribute) {
      result_.full[gradient] = {original.gradient, value.batch_dim};
      return;
    }
    const auto found = by_name_.find(original.name);
    if (found == by_name_.end() || found->second.size() > kMaxSameName) return;
    for (int candidate : found->second) {
      const int logical_gradient = logical_.fulls[candidate].gradient;
      if (logical_gradient == kNoIndex || logical_uses_.Original(candidate) != value.logical ||
          logical_uses_.Consumers(candidate) != parallel_uses_.Consumers(full)) {
        continue;
      }
      result_.full[gradient] = {logical_gradient, value.batch_dim};
      return;
    }
  }

  const Plan& logical_;
  const Plan& parallel_;
  const int64_t blocks_;
  Uses logical_uses_, parallel_uses_;
  absl::flat_hash_map<std::string, std::vector<int>> by_name_;
  Alignment result_;
};

}  // namespace

absl::StatusOr<Alignment> Align(const Plan& logical, const Plan& parallel, int64_t blocks) {
  return Aligner(logical, parallel, blocks).Run();
}

}  // namespace planproof::frontend::nnscaler
