// The check of a folding: the problem that it stands for is regenerated from the folded form, and
// compared with the one that was read.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "lineage/folding/ranked_lineage.h"

namespace planproof::lineage::folding {

using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

absl::Status Differs(const std::string& what) {
  return absl::InternalError(absl::StrCat("the folded form does not give back ", what));
}

class Unfolder {
 public:
  Unfolder(const Problem& problem, const Folding& folding)
      : in_(problem), folding_(folding), graph_(folding.problem.parallel) {}

  absl::Status Check() {
    if (folding_.places.size() != in_.parallel.tensors.size() ||
        folding_.origins.size() != graph_.operators.size() ||
        folding_.rank_axis.size() != graph_.tensors.size() ||
        folding_.required.size() != in_.required.size()) {
      return Differs("the sizes of the problem");
    }
    for (TensorId t = 0; t < static_cast<TensorId>(folding_.places.size()); ++t) {
      if (absl::Status s = CheckTensor(t); !s.ok()) return s;
    }
    seen_.assign(in_.parallel.operators.size(), false);
    for (OperatorId op = 0; op < static_cast<OperatorId>(graph_.operators.size()); ++op) {
      if (absl::Status s = CheckOperator(op); !s.ok()) return s;
    }
    if (std::count(seen_.begin(), seen_.end(), false) > 0) return Differs("every operator");
    return CheckRequired();
  }

 private:
  int RankDim(TensorId tensor) const {
    const Tensor& t = graph_.tensors[tensor];
    const auto at = std::find(t.axes.begin(), t.axes.end(), folding_.rank_axis[tensor]);
    return at == t.axes.end() ? -1 : static_cast<int>(at - t.axes.begin());
  }

  // The instance that this one is, looking through connections.
  std::optional<Instance> Resolve(Instance instance) const {
    while (true) {
      const OperatorId producer = graph_.tensors[instance.tensor].producer;
      if (producer == kNone) return instance;
      const Connection* made = std::get_if<Connection>(&folding_.origins[producer]);
      if (made == nullptr) return instance;
      const Operator& op = graph_.operators[producer];
      if (op.function->Serialize() != made->made.function.Serialize() || op.lifted ||
          op.inputs.size() != made->made.sources.size()) {
        return std::nullopt;
      }
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] != made->made.sources[i].tensor) return std::nullopt;
      }
      const int axis_dim = made->axis == kNone ? -1 : RankDim(instance.tensor);
      if ((axis_dim < 0) != (instance.rank == kNone)) return std::nullopt;
      const std::optional<Instance> inner = InstanceAt(
          graph_, made->made, graph_.tensors[instance.tensor].axes, axis_dim, instance.rank);
      if (!inner.has_value()) return std::nullopt;
      instance = *inner;
    }
  }
  bool SameInstance(Instance made, TensorId original) const {
    const std::optional<Instance> a = Resolve(made), b = Resolve(folding_.places[original]);
    return a.has_value() && b.has_value() && *a == *b;
  }

  bool SameInstances(const std::vector<Instance>& made, const std::vector<TensorId>& originals,
                     bool any_order) const {
    std::vector<std::pair<TensorId, int32_t>> a, b;
    for (size_t i = 0; i < made.size(); ++i) {
      const std::optional<Instance> one = Resolve(made[i]);
      const std::optional<Instance> other = Resolve(folding_.places[originals[i]]);
      if (!one.has_value() || !other.has_value()) return false;
      a.push_back({one->tensor, one->rank});
      b.push_back({other->tensor, other->rank});
    }
    if (any_order) {
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
    }
    return a == b;
  }

  absl::Status CheckTensor(TensorId original) {
    const Tensor& read = in_.parallel.tensors[original];
    const Instance place = folding_.places[original];
    if (place.tensor < 0 || place.tensor >= static_cast<TensorId>(graph_.tensors.size())) {
      return Differs("tensor " + read.name);
    }
    const std::optional<Instance> own = Resolve(place);
    if (!own.has_value() || !holds_.try_emplace({own->tensor, own->rank}, original).second) {
      return Differs("tensor " + read.name + " alone");
    }
    Tensor made = graph_.tensors[place.tensor];
    Lineage lineage = folding_.problem.lineage[place.tensor];
    if (place.rank != kNone) {
      const int dim = RankDim(place.tensor);
      if (dim < 0 || place.rank < 0 || place.rank >= made.shape[dim]) {
        return Differs("the rank of tensor " + read.name);
      }
      made.device += static_cast<sdfg::Device>(
          place.rank * graph_.axis_device_stride[folding_.rank_axis[place.tensor]]);
      made.shape.erase(made.shape.begin() + dim);
      made.axes.erase(made.axes.begin() + dim);
      if (lineage.kind != LineageKind::kNone) lineage = LineageAt(lineage, dim, place.rank);
    }
    if (made.shape != read.shape || made.axes != read.axes || made.dtype != read.dtype ||
        made.role != read.role || made.device != read.device ||
        (made.producer == kNone) != (read.producer == kNone) ||
        !SameLineage(lineage, in_.lineage[original])) {
      return Differs("tensor " + read.name);
    }
    return absl::OkStatus();
  }

  struct Regenerated {
    OperatorId original = kNone;
    int32_t rank = kNone;
    const std::string* function = nullptr;  // ContentOf it; null: the same object
    std::vector<Instance> inputs;
    bool lifted = true;
    bool any_order = false;  // of the inputs
  };

  absl::Status Compare(const Operator& op, const Regenerated& made) {
    if (made.original < 0 || made.original >= static_cast<OperatorId>(seen_.size()) ||
        seen_[made.original]) {
      return Differs("an operator once");
    }
    seen_[made.original] = true;
    const Operator& read = in_.parallel.operators[made.original];
    const std::string what = "operator " + in_.parallel.Describe(made.original);
    if (read.name != op.name || read.kind != op.kind || read.lifted != made.lifted ||
        read.inputs.size() != made.inputs.size() || read.outputs.size() != op.outputs.size()) {
      return Differs(what);
    }
    if (made.function == nullptr ? op.function != read.function
                                 : *made.function != ContentRead(*read.function)) {
      return Differs(what + ": its function");
    }
    if (!AssumesAllOf(*op.function, *read.function)) return Differs(what + ": what it assumes");
    if (!SameInstances(made.inputs, read.inputs, made.any_order)) {
      return Differs(what + ": its operands");
    }
    for (size_t o = 0; o < read.outputs.size(); ++o) {
      const bool both = read.outputs[o] != kNone && op.outputs[o] != kNone;
      if (!both && (read.outputs[o] != kNone || op.outputs[o] != kNone)) {
        return Differs(what + ": a result");
      }
      if (both && !SameInstance({op.outputs[o], made.rank}, read.outputs[o])) {
        return Differs(what + ": a result");
      }
    }
    return absl::OkStatus();
  }

  const std::string& ContentRead(const IndexFunction& function) {
    std::string& bytes = contents_[&function];
    if (bytes.empty()) {
      const absl::StatusOr<IndexFunction> plain = Rebuilt(function);
      bytes = plain.ok() ? ContentOf(*plain) : "?";
    }
    return bytes;
  }

  std::vector<Instance> InputsAt(const Operator& op, int32_t rank) const {
    std::vector<Instance> inputs;
    for (TensorId input : op.inputs) inputs.push_back({input, rank});
    return inputs;
  }

  absl::Status CheckOperator(OperatorId id) {
    const Operator& op = graph_.operators[id];
    const Origin& origin = folding_.origins[id];
    if (std::holds_alternative<Connection>(origin)) return absl::OkStatus();  // see Resolve
    if (const auto* one = std::get_if<Explicit>(&origin)) {
      return Compare(op, {one->original, kNone, nullptr, InputsAt(op, kNone), op.lifted});
    }
    // Instances at every rank of the group, each with its operands.
    for (TensorId input : op.inputs) {
      if (RankDim(input) < 0) return Differs("operands of " + op.name);
    }
    if (const auto* same = std::get_if<Lifted>(&origin)) {
      for (size_t r = 0; r < same->originals.size(); ++r) {
        const auto rank = static_cast<int32_t>(r);
        absl::Status s = Compare(op, {same->originals[r], rank, nullptr, InputsAt(op, rank), true});
        if (!s.ok() || !op.lifted) return op.lifted ? s : Differs(op.name);
      }
      return absl::OkStatus();
    }
    if (const auto* form = std::get_if<RankedForm>(&origin)) return CheckRanked(op, *form);
    return CheckCollective(op, std::get<CollectiveForm>(origin));
  }

  absl::Status CheckRanked(const Operator& op, const RankedForm& form) {
    if (op.lifted) return Differs(op.name);
    std::string bytes;
    bool any_rank = false;
    for (size_t r = 0; r < form.originals.size(); ++r) {
      const auto rank = static_cast<int32_t>(r);
      if (!any_rank) {
        const absl::StatusOr<IndexFunction> instance =
            InstanceOf(*op.function, form.layout, rank, &any_rank);
        if (!instance.ok()) return instance.status();
        bytes = ContentOf(*instance);
      }
      const bool lifted = in_.parallel.operators[form.originals[r]].lifted;
      absl::Status s = Compare(op, {form.originals[r], rank, &bytes, InputsAt(op, rank), lifted});
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // Content of the form, rebuilt; empty if there is none.
  const std::string& GroupFormOf(const GroupCollective& c, const sdfg::Shape& local,
                                 sdfg::DType dtype, int32_t position) {
    std::vector<int64_t> key = {static_cast<int64_t>(c.kind),
                                static_cast<int64_t>(c.reduce),
                                c.dim,
                                c.concat_dim,
                                c.size,
                                static_cast<int64_t>(dtype),
                                position};
    key.insert(key.end(), local.begin(), local.end());
    const auto [found, fresh] = group_forms_.try_emplace(std::move(key));
    if (!fresh) return found->second;
    const absl::StatusOr<IndexFunction> form = GroupForm(c, local, dtype, position);
    if (!form.ok()) return found->second;
    const absl::StatusOr<IndexFunction> plain = Rebuilt(*form);
    if (plain.ok()) found->second = ContentOf(*plain);
    return found->second;
  }

  absl::Status CheckCollective(const Operator& op, const CollectiveForm& form) {
    const Tensor& operand = graph_.tensors[op.inputs[0]];
    const int axis_dim = RankDim(op.inputs[0]);
    const absl::StatusOr<IndexFunction> axis_form =
        AxisForm(form.collective, operand.shape, operand.dtype, axis_dim);
    if (!axis_form.ok()) return axis_form.status();
    if (op.lifted || op.inputs.size() != 1 || op.outputs.size() != 1 ||
        form.originals.size() != static_cast<size_t>(form.collective.size) ||
        operand.shape[axis_dim] != form.collective.size ||
        axis_dim + 1 != static_cast<int>(operand.axes.size()) ||
        axis_form->Serialize() != op.function->Serialize()) {
      return Differs("the collective " + op.name);
    }
    const sdfg::Shape local(operand.shape.begin() + axis_dim + 1, operand.shape.end());
    const bool chunk = form.collective.kind == CollectiveKind::kChunk;
    for (int32_t r = 0; r < form.collective.size; ++r) {
      Regenerated made{form.originals[r],
                       r,
                       &GroupFormOf(form.collective, local, operand.dtype, r),
                       {},
                       true,
                       IsReduction(form.collective.kind)};
      for (int32_t other = 0; other < form.collective.size; ++other) {
        if (!chunk || other == r) made.inputs.push_back({op.inputs[0], other});
      }
      if (absl::Status s = Compare(op, made); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status CheckRequired() {
    std::vector<int64_t> instances(folding_.problem.required.size(), 0);
    for (size_t q = 0; q < in_.required.size(); ++q) {
      const RequiredRelation& read = in_.required[q];
      const int at = folding_.required[q];
      if (at < 0 || at >= static_cast<int>(folding_.problem.required.size())) {
        return Differs("the requirement " + read.what);
      }
      const RequiredRelation& made = folding_.problem.required[at];
      const Instance place = folding_.places[read.parallel];
      Lineage lineage = made.lineage;
      Instance required{made.parallel, kNone};
      if (folding_.rank_axis[made.parallel] != kNone) {
        required.rank = place.rank;
        lineage = LineageAt(lineage, RankDim(made.parallel), place.rank);
      }
      if (!SameInstance(required, read.parallel) || !SameLineage(lineage, read.lineage)) {
        return Differs("the requirement " + read.what);
      }
      ++instances[at];
    }
    // Nothing is required that was not.
    for (size_t at = 0; at < instances.size(); ++at) {
      const TensorId tensor = folding_.problem.required[at].parallel;
      const int dim = folding_.rank_axis[tensor] == kNone ? -1 : RankDim(tensor);
      if (instances[at] != (dim < 0 ? 1 : graph_.tensors[tensor].shape[dim])) {
        return Differs("the number of requirements");
      }
    }
    return absl::OkStatus();
  }

  const Problem& in_;
  const Folding& folding_;
  const sdfg::Graph& graph_;
  std::vector<bool> seen_;  // operators that were read
  std::map<std::pair<TensorId, int32_t>, TensorId> holds_;
  std::map<const IndexFunction*, std::string> contents_;
  std::map<std::vector<int64_t>, std::string> group_forms_;
};

}  // namespace

absl::Status CheckFolding(const Problem& problem, const Folding& folding) {
  return Unfolder(problem, folding).Check();
}

absl::StatusOr<std::optional<Problem>> FoldChecked(const Problem& problem) {
  constexpr int kMaxCoordinates = 4;
  std::optional<Problem> folded;
  for (int i = 0; i < kMaxCoordinates; ++i) {
    const Problem& from = folded.has_value() ? *folded : problem;
    std::optional<Folding> folding = Fold(from);
    if (!folding.has_value()) break;
    if (absl::Status s = CheckFolding(from, *folding); !s.ok()) return s;
    Problem& made = folding->problem;
    made.logical = problem.logical;
    made.premises = problem.premises;
    made.recorded = problem.recorded;
    made.schedule = problem.schedule;
    made.names_tell = problem.names_tell;
    made.mesh = problem.mesh;
    made.assumptions = problem.assumptions;
    made.warnings = problem.warnings;
    folded = std::move(made);
  }
  return folded;
}

}  // namespace planproof::lineage::folding
