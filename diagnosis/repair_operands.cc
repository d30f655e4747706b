// Repairs about what the model reads where the plan reads something else.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using lineage::LineageKind;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr size_t kMaxReplacedOperands = 8;

// Marks the elements of the logical tensor, row-major, that a tensor with this lineage holds.
void MarkHeld(const sdfg::Shape& local, const lineage::Lineage& lineage, const sdfg::Shape& logical,
              std::vector<bool>* held) {
  if (std::find(local.begin(), local.end(), 0) != local.end()) return;
  std::vector<int64_t> index(local.size(), 0);
  while (true) {
    int64_t at = 0;
    for (size_t d = 0; d < logical.size(); ++d) {
      const int64_t coordinate = lineage.map[d].ValueAt(index);
      if (coordinate < 0 || coordinate >= logical[d]) return;
      at = at * logical[d] + coordinate;
    }
    (*held)[static_cast<size_t>(at)] = true;
    size_t d = local.size();
    while (d > 0 && ++index[d - 1] == local[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

// An operand is a slice of one logical tensor, and with the same slice of another one, which the
// model's operator reads, the result would be right.
void RepairSearch::TryModelOperands() {
  const OperatorId producer = problem_.logical.tensors[subject_.lineage.logical].producer;
  // An input of the model is only handed on.
  std::vector<TensorId> model = {subject_.lineage.logical};
  if (producer != kNone) {
    const auto& inputs = problem_.logical.operators[producer].inputs;
    model.assign(inputs.begin(), inputs.end());
  }
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < std::min(op.inputs.size(), kMaxReplacedOperands); ++k) {
      const lineage::Lineage& read = problem_.lineage[op.inputs[k]];
      if (read.kind != LineageKind::kFull) continue;
      for (const TensorId wanted : std::set<TensorId>(model.begin(), model.end())) {
        if (wanted == read.logical || problem_.logical.tensors[wanted].shape !=
                                          problem_.logical.tensors[read.logical].shape) {
          continue;
        }
        // A multiple of a tensor may have its name: that it is read in place of it says nothing.
        const std::string& wanted_name = problem_.logical.tensors[wanted].name;
        const std::string& read_name = problem_.logical.tensors[read.logical].name;
        const std::string& name = graph_.tensors[op.inputs[k]].name;
        if (wanted_name == read_name && wanted_name == name) continue;
        lineage::Lineage other = read;
        other.logical = wanted;
        const Values value = replay_.Claimed(graph_.tensors[op.inputs[k]].shape, other);
        if (value == nullptr || !Agree(WithOperand(id, static_cast<int>(k), value), claimed_)) {
          continue;
        }
        Found(absl::StrCat(Name(id), " reads ", name,
                           name == wanted_name ? absl::StrCat(", which is ", read_name, ",") : "",
                           " in place of ", wanted_name),
              id);
        return;
      }
    }
  }
}

// Several operands of the model's operator are slices of other logical tensors: those of another
// layer.
void RepairSearch::TryModelOperandsTogether() {
  const OperatorId producer = problem_.logical.tensors[subject_.lineage.logical].producer;
  if (producer == kNone) return;
  const sdfg::Operator& model = problem_.logical.operators[producer];
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    if (op.name != model.name || op.inputs.size() != model.inputs.size()) continue;
    Changes changes;
    std::vector<std::string> reads;
    bool fits = true;
    for (size_t k = 0; k < op.inputs.size() && fits; ++k) {
      lineage::Lineage other = problem_.lineage[op.inputs[k]];
      fits = other.kind == LineageKind::kFull;
      if (!fits || other.logical == model.inputs[k]) continue;
      fits = problem_.logical.tensors[other.logical].shape ==
             problem_.logical.tensors[model.inputs[k]].shape;
      if (!fits) continue;
      other.logical = model.inputs[k];
      const sdfg::Tensor& tensor = graph_.tensors[op.inputs[k]];
      fits = (changes.operands[{id, static_cast<int>(k)}] = replay_.Claimed(tensor.shape, other)) !=
             nullptr;
      reads.push_back(absl::StrCat(tensor.name, " in place of ",
                                   problem_.logical.tensors[model.inputs[k]].name));
    }
    if (!fits || reads.size() < 2 || !Agree(RunStage(changes), claimed_)) continue;
    Found(absl::StrCat(Name(id), " reads ", absl::StrJoin(reads, ", ")), id,
          static_cast<int>(reads.size()));
    return;
  }
}

// The tensor is one that the stage reads, of another logical tensor: nothing was done to it.
void RepairSearch::TryUnchanged() {
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  std::set<TensorId> made;
  for (const OperatorId id : subject_.operators) {
    for (const TensorId output : graph_.operators[id].outputs) made.insert(output);
  }
  for (const OperatorId id : subject_.operators) {
    for (const TensorId input : graph_.operators[id].inputs) {
      const lineage::Lineage& l = problem_.lineage[input];
      if (made.count(input) > 0 || l.kind != LineageKind::kFull ||
          l.logical == subject_.lineage.logical || graph_.tensors[input].shape != self.shape ||
          !Agree(replay_.Parallel(input), actual_)) {
        continue;
      }
      Found(absl::StrCat("it is ", graph_.tensors[input].name, ", unchanged"), id);
      return;
    }
  }
  TryInputsOfTheModel();
}

// What the model updates, before that: a copy that was made too early.
void RepairSearch::TryInputsOfTheModel() {
  const sdfg::Graph& model = problem_.logical;
  const sdfg::Tensor& wanted = model.tensors[subject_.lineage.logical];
  if (wanted.producer == kNone) return;
  for (size_t t = 0; t < model.tensors.size() && !Late(); ++t) {
    const sdfg::Tensor& tensor = model.tensors[t];
    if (tensor.producer != kNone || tensor.shape != wanted.shape || tensor.dtype != wanted.dtype) {
      continue;
    }
    lineage::Lineage before = subject_.lineage;
    before.logical = static_cast<TensorId>(t);
    const Values value = replay_.Claimed(graph_.tensors[subject_.tensor].shape, before);
    if (!Agree(value, actual_)) continue;
    Found(absl::StrCat("it is ", tensor.name, ", unchanged"),
          graph_.tensors[subject_.tensor].producer);
    return;
  }
}

// On every rank of an axis an operand is the slice of the rank some places on.
void RepairSearch::TryRanks() {
  constexpr int64_t kMaxRanks = 8;
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    for (size_t k = 0; k < std::min(op.inputs.size(), kMaxReplacedOperands); ++k) {
      const sdfg::Tensor& tensor = graph_.tensors[op.inputs[k]];
      const lineage::Lineage& read = problem_.lineage[op.inputs[k]];
      if (read.kind != LineageKind::kFull || sdfg::IsInteger(tensor.dtype)) continue;
      for (size_t d = 0; d < read.map.size(); ++d) {
        for (size_t t = 0; t < read.map[d].terms.size(); ++t) {
          const lineage::IndexTerm& term = read.map[d].terms[t];
          if (term.dim >= static_cast<int32_t>(tensor.axes.size()) || term.div != 1 ||
              term.gated()) {
            continue;
          }
          const int64_t ranks = tensor.shape[term.dim];
          for (int64_t by = 1; by < std::min(ranks, kMaxRanks) && !Late(); ++by) {
            lineage::Lineage other = read;
            other.map[d].terms[t].offset += by;
            other.map[d].terms[t].mod = ranks;
            const Values value = replay_.Claimed(tensor.shape, other);
            if (value == nullptr || !Agree(WithOperand(id, static_cast<int>(k), value), claimed_)) {
              continue;
            }
            Found(absl::StrCat(Name(id), " takes the slice of ", tensor.name, " of each rank of ",
                               graph_.axes[tensor.axes[term.dim]].name, " for that of the rank ",
                               ranks - by, " before"),
                  id);
            causes_.back().alike = absl::StrCat("slice of ", Place(op.inputs[k]));
            return;
          }
        }
      }
    }
  }
}

// A constant that an operator adds is there once for each rank of an axis.
void RepairSearch::TryAddedConstants() {
  for (const OperatorId id : subject_.operators) {
    const sdfg::IndexFunction& function = *graph_.operators[id].function;
    for (const sdfg::Node& node : function.nodes) {
      if (node.op != sdfg::Op::kAdd) continue;
      for (const int argument : node.args) {
        const sdfg::Node& operand = function.nodes[argument];
        if (operand.op != sdfg::Op::kReal || operand.real.IsZero()) continue;
        for (const sdfg::Axis& axis : graph_.axes) {
          if (axis.extent < 2) continue;
          const double extra = operand.real.ToDouble() * static_cast<double>(axis.extent - 1);
          std::vector<double> right = actual_at_;
          for (double& x : right) x -= extra;
          if (!AgreeNumbers(right, claimed_at_)) continue;
          Found(absl::StrCat("the constant ", operand.real.ToDouble(), " of ", Name(id),
                             " is added ", axis.extent, " times = size of ", axis.name),
                id);
          return;
        }
      }
    }
  }
}

// Along a dimension the parts are the model's, but elsewhere: some are lost.
void RepairSearch::TryRows() {
  constexpr size_t kMaxRows = 64;
  const sdfg::Tensor& self = graph_.tensors[subject_.tensor];
  for (size_t d = self.axes.size(); d < self.shape.size(); ++d) {
    std::map<int64_t, std::vector<double>> here, there;
    for (size_t i = 0; i < points_.size(); ++i) {
      here[points_[i][d]].push_back(actual_at_[i]);
      there[points_[i][d]].push_back(claimed_at_[i]);
    }
    if (here.size() < 2 || here.size() > kMaxRows) continue;
    std::map<int64_t, int64_t> moved;  // row of the tensor to row of the model
    for (const auto& [row, values] : here) {
      if (AgreeNumbers(values, there[row])) {
        moved[row] = row;
        continue;
      }
      for (const auto& [model, wanted] : there) {
        if (AgreeNumbers(values, wanted)) moved.try_emplace(row, model);
      }
    }
    std::set<int64_t> lost;
    for (const auto& [row, values] : there) lost.insert(row);
    std::vector<int64_t> zero, wrong;
    std::vector<std::string> parts;
    for (const auto& [row, values] : here) {
      const auto at = moved.find(row);
      if (at == moved.end()) {
        const bool is_zero =
            std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
        (is_zero ? zero : wrong).push_back(row);
        continue;
      }
      lost.erase(at->second);
      if (at->second != row && parts.size() < 4) {
        parts.push_back(absl::StrCat("index ", row, " is the model's ", at->second));
      }
    }
    if (2 * moved.size() < here.size()) continue;
    for (const int64_t row : zero) lost.erase(row);
    for (const int64_t row : wrong) lost.erase(row);
    const auto list = [](const std::vector<int64_t>& rows, const std::string& is) {
      if (rows.size() == 1) return absl::StrCat("index ", rows[0], " is ", is);
      const size_t last = std::min<size_t>(rows.size(), 5) - 1;
      std::string text = "indices ";
      for (size_t i = 0; i <= last; ++i) {
        absl::StrAppend(&text, i == 0 ? "" : i < last ? ", " : " and ", rows[i]);
      }
      if (rows.size() > 5) absl::StrAppend(&text, " and ", rows.size() - 5, " more");
      return absl::StrCat(text, " are ", is);
    };
    if (!zero.empty()) parts.push_back(list(zero, "zero"));
    if (!wrong.empty()) parts.push_back(list(wrong, "wrong"));
    std::string text = absl::StrCat("along dimension ", d - self.axes.size(), ": ",
                                    absl::StrJoin(parts, ", "), "; the others are right");
    if (!lost.empty()) absl::StrAppend(&text, "; ", absl::StrJoin(lost, ", "), " is lost");
    Found(text);
    causes_.back().about = "rows";
    causes_.back().only_where = true;
  }
}

// Of what the model's operator reads some elements are on no rank at all.
void RepairSearch::TryHoles() {
  constexpr int64_t kMaxElements = 1 << 18;
  std::set<TensorId> seen;
  for (const OperatorId id : subject_.operators) {
    for (const TensorId input : graph_.operators[id].inputs) {
      const lineage::Lineage& read = problem_.lineage[input];
      if (read.kind != LineageKind::kFull || !seen.insert(read.logical).second) continue;
      // Of what is inferred some tensors may be found and others not.
      if (read.provenance == lineage::Provenance::kInferred) continue;
      const sdfg::Shape& shape = problem_.logical.tensors[read.logical].shape;
      int64_t elements = 1;
      for (const int64_t extent : shape) {
        elements = std::min(elements * std::min(extent, kMaxElements + 1), kMaxElements + 1);
      }
      if (elements > kMaxElements) continue;
      std::vector<bool> held(static_cast<size_t>(elements), false);
      for (size_t t = 0; t < problem_.lineage.size(); ++t) {
        const lineage::Lineage& l = problem_.lineage[t];
        if (l.kind == LineageKind::kFull && l.logical == read.logical) {
          MarkHeld(graph_.tensors[t].shape, l, shape, &held);
        }
      }
      const auto hole = std::find(held.begin(), held.end(), false);
      if (hole == held.end()) continue;
      std::vector<int64_t> index(shape.size());
      int64_t rest = hole - held.begin();
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
      const auto missing = std::count(held.begin(), held.end(), false);
      Found(absl::StrCat("no rank has ", problem_.logical.tensors[read.logical].name, "[",
                         absl::StrJoin(index, ", "), "]",
                         missing > 1 ? absl::StrCat(" and ", missing - 1, " more elements") : "",
                         ", which the model reads"),
            id);
      return;
    }
  }
}

// The elements are the model's, in another order.
void RepairSearch::TryOrder() {
  std::vector<double> here = actual_at_, there = claimed_at_;
  std::sort(here.begin(), here.end());
  std::sort(there.begin(), there.end());
  if (AgreeNumbers(here, there)) Found("the elements are right, but in another order");
}

}  // namespace planproof::diagnosis
