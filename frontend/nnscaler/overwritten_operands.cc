#include "frontend/nnscaler/overwritten_operands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/operator_functions.h"
#include "sdfg/operator_memory.h"

namespace planproof::frontend::nnscaler {
namespace {

// The tensor that the node overwrites, or kNoIndex.
int Overwritten(const Node& node) {
  if (node.kind != NodeKind::kForward || !sdfg::ComputesInPlace(node.attributes)) return kNoIndex;
  for (const NodeOperand& input : node.inputs) {
    if (input.tensor != kNoIndex) return input.tensor;
  }
  return kNoIndex;
}

// One device, cell by cell.
class DeviceMemory {
 public:
  // `view_of`: by node, of which of its tensor operands the outputs may be views; or kNoIndex.
  DeviceMemory(const Plan& plan, const std::vector<int>& view_of, int device)
      : plan_(plan), view_of_(view_of), device_(device) {}

  absl::Status Run(const DeviceSequence& sequence) {
    absl::flat_hash_map<int64_t, int> runs;
    for (const Cell& cell : sequence.cells) {
      microbatch_ = runs[cell.id]++;
      for (int n : plan_.bodies[cell.body]) {
        if (absl::Status status = RunNode(n); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

 private:
  // What a tensor was when it was made: since then its memory may have been overwritten.
  struct Value {
    size_t memory = 0;
    int version = 0;
  };
  struct Memory {
    int version = 0;
    int writer = kNoIndex;  // that made the version, if another one was there before
  };

  // A parameter is one for all microbatches and all its pieces.
  std::pair<int, int> Key(int sub) const {
    const FullTensor& full = plan_.FullOf(sub);
    if (full.is_attribute && !full.is_gradient) return {plan_.subs[sub].full, -1};
    return {sub, microbatch_};
  }

  Value& Of(int sub) {
    const auto [at, fresh] = values_.try_emplace(Key(sub));
    if (fresh) at->second = Fresh();
    return at->second;
  }
  Value Fresh() {
    memories_.emplace_back();
    return {memories_.size() - 1, 0};
  }

  absl::Status Read(int sub, int n) {
    const Value value = Of(sub);
    const Memory& memory = memories_[value.memory];
    if (value.version == memory.version) return absl::OkStatus();
    const Node& writer = plan_.nodes[memory.writer];
    return absl::InvalidArgumentError(
        absl::StrCat("overwritten operand: ", writer.Label(), " computes in place (inplace) and ",
                     "overwrites ", plan_.TensorName(Overwritten(writer)), ", after which ",
                     plan_.nodes[n].Label(), " reads ", plan_.TensorName(sub),
                     Overwritten(writer) == sub ? "" : ", which may lie in the same memory,",
                     " on device ", device_));
  }

  absl::Status RunNode(int n) {
    const Node& node = plan_.nodes[n];
    std::vector<int> read;
    for (const NodeOperand& input : node.inputs) {
      if (input.tensor != kNoIndex) read.push_back(input.tensor);
    }
    if (node.kind == NodeKind::kReducer) read.clear();  // of all microbatches
    if (node.kind == NodeKind::kBackward) AddForwardOperands(plan_.nodes[node.mirror], &read);
    for (int sub : read) {
      if (absl::Status status = Read(sub, n); !status.ok()) return status;
    }
    if (const int overwritten = Overwritten(node); overwritten != kNoIndex) {
      const size_t memory = Of(overwritten).memory;
      ++memories_[memory].version;
      memories_[memory].writer = n;
      for (const NodeOperand& output : node.outputs) {
        values_[Key(output.tensor)] = {memory, memories_[memory].version};
      }
      return absl::OkStatus();
    }
    // What an adapter gives back may be what it was given.
    int same = view_of_[n];
    if (node.kind == NodeKind::kAdapter && !read.empty()) same = 0;
    for (const NodeOperand& output : node.outputs) {
      const Value value = same == kNoIndex ? Fresh() : Of(read[same]);
      values_[Key(output.tensor)] = value;
    }
    return absl::OkStatus();
  }

  // What the derivative is computed from, beside gradients.
  static void AddForwardOperands(const Node& forward, std::vector<int>* read) {
    const bool own = Overwritten(forward) != kNoIndex;
    if (own && forward.name == "dropout") return;
    if (own && forward.name == "relu") {
      for (const NodeOperand& output : forward.outputs) read->push_back(output.tensor);
      return;
    }
    for (const NodeOperand& input : forward.inputs) {
      if (input.tensor != kNoIndex) read->push_back(input.tensor);
    }
  }

  const Plan& plan_;
  const std::vector<int>& view_of_;
  const int device_;
  int microbatch_ = 0;
  absl::flat_hash_map<std::pair<int, int>, Value> values_;
  std::vector<Memory> memories_;
};

}  // namespace

absl::Status CheckOverwrittenOperands(const Plan& plan, const sdfg::OperatorLibrary& operators) {
  if (std::none_of(plan.nodes.begin(), plan.nodes.end(),
                   [](const Node& node) { return Overwritten(node) != kNoIndex; })) {
    return absl::OkStatus();
  }
  sdfg::Graph scratch;
  FunctionCache functions(operators, &scratch);
  std::vector<int> view_of;
  for (const Node& node : plan.nodes) {
    view_of.push_back(kNoIndex);
    if (node.kind != NodeKind::kForward) continue;
    const absl::StatusOr<Function> made = functions.Forward(plan, node);
    if (!made.ok() || !sdfg::MayBeView(node.name, **made)) continue;
    const sdfg::IndexFunction& function = **made;
    view_of.back() = function.nodes[function.outputs[0].body].input;
  }
  for (const DeviceSequence& sequence : plan.sequences) {
    const absl::Status status = DeviceMemory(plan, view_of, sequence.device).Run(sequence);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::nnscaler
