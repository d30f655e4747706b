#include "frontend/plan/overwritten_operands.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/operator_memory.h"

namespace planproof::plan {
namespace {

using sdfg::TensorId;

class OverwrittenOperands {
 public:
  OverwrittenOperands(const Specification& specification, const LogicalModel& model,
                      const std::string& file)
      : specification_(specification), model_(model), file_(file) {}

  absl::Status Check() {
    bool any = false;
    for (const Operator& op : specification_.operators()) any = any || Overwritten(op) != nullptr;
    if (!any) return absl::OkStatus();
    for (size_t id = 0; id < model_.graph.tensors.size(); ++id) {
      same_.push_back(static_cast<TensorId>(id));
    }
    for (const Operator& op : specification_.operators()) JoinViews(op);
    for (int i = 0; i < specification_.operators_size(); ++i) {
      const Operator& op = specification_.operators(i);
      if (IsView(op)) continue;
      for (const Operand& operand : op.inputs()) {
        if (operand.kind_case() != Operand::kTensor) continue;
        std::vector<int>& readers = readers_[MemoryOf(operand.tensor())];
        if (readers.empty() || readers.back() != i) readers.push_back(i);
      }
    }
    for (int i = 0; i < specification_.operators_size(); ++i) {
      const Operator& op = specification_.operators(i);
      const std::string* operand = Overwritten(op);
      if (operand == nullptr) continue;
      for (int reader : readers_[MemoryOf(*operand)]) {
        if (reader != i) return ReadBy(i, *operand, reader);
      }
    }
    for (const RequiredOutput& output : specification_.outputs()) {
      if (absl::Status status = CheckRequired(output.name()); !status.ok()) return status;
    }
    for (const ParameterUpdate& update : specification_.updates()) {
      if (absl::Status status = CheckRequired(update.updated()); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Position Where(int i) const {
    return PositionOf(specification_.operators(i), file_, "/specification", i);
  }

  // The operand that the operator overwrites, or null.
  static const std::string* Overwritten(const Operator& op) {
    if (!ComputesInPlace(op)) return nullptr;
    for (const Operand& operand : op.inputs()) {
      if (operand.kind_case() == Operand::kTensor) return &operand.tensor();
    }
    return nullptr;
  }

  bool IsView(const Operator& op) const {
    if (op.outputs_size() == 0 || ComputesInPlace(op)) return false;
    const sdfg::OperatorId maker = model_.graph.tensors[model_.names.at(op.outputs(0))].producer;
    return sdfg::MayBeView(op.op(), *model_.graph.operators[maker].function);
  }

  void JoinViews(const Operator& op) {
    if (!IsView(op)) return;
    for (const Operand& operand : op.inputs()) {
      if (operand.kind_case() != Operand::kTensor) continue;
      for (const std::string& output : op.outputs()) {
        same_[MemoryOf(output)] = MemoryOf(operand.tensor());
      }
    }
  }

  // One tensor of those that may lie in the memory of `name` before anything overwrites it.
  TensorId MemoryOf(const std::string& name) {
    TensorId id = model_.names.at(name);
    while (same_[id] != id) {
      same_[id] = same_[same_[id]];
      id = same_[id];
    }
    return id;
  }

  absl::Status Refuse(int i, const std::string& operand, const std::string& but) const {
    const Operator& op = specification_.operators(i);
    return At(Where(i), absl::StrCat(op.op(), " (", NameOf(op), ") overwrites ", operand,
                                     " (\"inplace\"), but ", but,
                                     "; leave \"inplace\" out: values do not depend on it"));
  }

  absl::Status ReadBy(int i, const std::string& operand, int reader) const {
    return Refuse(i, operand,
                  absl::StrCat(specification_.operators(reader).op(), " at ", Where(reader).Text(),
                               " reads it or a view of it, and a specification does not say which ",
                               "comes first"));
  }

  absl::Status CheckRequired(const std::string& name) {
    if (model_.names.count(name) == 0) return absl::OkStatus();  // reported elsewhere
    for (int i : readers_[MemoryOf(name)]) {
      const std::string* operand = Overwritten(specification_.operators(i));
      if (operand == nullptr || MemoryOf(*operand) != MemoryOf(name)) continue;
      return Refuse(i, *operand,
                    absl::StrCat("\"", name, "\" is required",
                                 name == *operand ? "" : " and may be a view of it"));
    }
    return absl::OkStatus();
  }

  const Specification& specification_;
  const LogicalModel& model_;
  const std::string& file_;
  std::vector<TensorId> same_;                              // union-find over tensors
  std::unordered_map<TensorId, std::vector<int>> readers_;  // by memory; views are none
};

}  // namespace

absl::Status CheckOverwrittenOperands(const Specification& specification, const LogicalModel& model,
                                      const std::string& file) {
  return OverwrittenOperands(specification, model, file).Check();
}

}  // namespace planproof::plan
