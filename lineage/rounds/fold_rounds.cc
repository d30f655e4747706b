#include "lineage/rounds/fold_rounds.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lineage/rounds/piece_functions.h"
#include "lineage/rounds/rounds.h"
#include "lineage/rounds/without_copies.h"
#include "sdfg/collectives.h"
#include "sdfg/coordinate_functions.h"

namespace planproof::lineage::rounds {

using sdfg::AxisId;
using sdfg::Graph;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Operator;
using sdfg::OperatorId;
using sdfg::OperatorKind;
using sdfg::Shape;
using sdfg::Tensor;
using sdfg::TensorId;

namespace {

class Folder {
 public:
  Folder(const Problem& problem, const Rounds& rounds)
      : in_(problem), graph_(problem.parallel), rounds_(rounds), out_(problem) {}

  std::optional<Problem> Run() {
    Start();
    for (size_t f = 0; f < rounds_.families.size(); ++f) {
      // A maximum is generalised from that of all pieces, which comes first.
      if (!AddFamily(rounds_.families[f])) return std::nullopt;
    }
    for (const Total& total : rounds_.totals) {
      if (!AddTotal(total)) return std::nullopt;
    }
    for (OperatorId id = 0; id < static_cast<OperatorId>(graph_.operators.size()); ++id) {
      if (!rounds_.operators[id] && !Keep(graph_.operators[id])) return std::nullopt;
    }
    for (RequiredRelation& required : out_.required) {
      required.parallel = number_[required.parallel];
      if (required.parallel == kNone) return std::nullopt;
    }
    if (!out_.parallel.Check().ok() || !out_.logical.Check().ok()) return std::nullopt;
    return std::move(out_);
  }

 private:
  // Tensors that no round makes alone, and the axis of pieces.
  void Start() {
    Graph& g = out_.parallel;
    g.tensors.clear();
    g.operators.clear();
    out_.lineage.clear();
    out_.schedule = {};
    pieces_ = static_cast<AxisId>(g.axes.size());
    g.axes.push_back({absl::StrCat("piece of ", g.axes[rounds_.axis].name), rounds_.count});
    g.axis_device_stride.resize(g.axes.size(), 0);
    std::vector<bool> gone(graph_.tensors.size(), false);
    for (size_t id = 0; id < graph_.operators.size(); ++id) {
      for (const TensorId t : graph_.operators[id].outputs) {
        if (t != kNone && rounds_.operators[id]) gone[t] = true;
      }
    }
    for (const Total& total : rounds_.totals) gone[total.result] = false;
    number_.assign(graph_.tensors.size(), kNone);
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!gone[t]) number_[t] = AddTensor(graph_.tensors[t], in_.lineage[t]);
    }
  }

  TensorId AddTensor(Tensor tensor, Lineage lineage) {
    tensor.producer = kNone;
    tensor.producer_output = 0;
    out_.lineage.push_back(std::move(lineage));
    return out_.parallel.AddTensor(std::move(tensor));
  }

  const Tensor& TensorAt(TensorId t) const { return out_.parallel.tensors[t]; }

  // A tensor like the given one, of one round, over these axes.
  TensorId AddOver(const Tensor& like, std::vector<AxisId> axes) {
    Tensor tensor = like;
    Shape shape;
    for (const AxisId axis : axes) shape.push_back(out_.parallel.axes[axis].extent);
    shape.insert(shape.end(), like.shape.begin() + static_cast<std::ptrdiff_t>(like.axes.size()),
                 like.shape.end());
    tensor.shape = std::move(shape);
    tensor.axes = std::move(axes);
    tensor.role = sdfg::TensorRole::kIntermediate;
    return AddTensor(std::move(tensor), {});
  }

  // An operator with explicit coordinates that stands for those of all rounds.
  bool Connect(absl::StatusOr<IndexFunction> function, OperatorKind kind,
               std::vector<TensorId> inputs, TensorId output) {
    if (!function.ok()) return false;
    Operator op;
    op.name = function->operator_name;
    op.kind = kind;
    op.function = out_.parallel.Intern(*std::move(function));
    op.lifted = false;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.devices = {std::max(TensorAt(output).device, 0)};
    op.label = TensorAt(output).name;
    op.source = TensorAt(output).source;
    out_.parallel.AddOperator(std::move(op));
    return true;
  }

  // The operator of round 0 for all ranks and pieces; its output `output` alone. kNone if an
  // operand is gone.
  TensorId Apply(OperatorId first, int output) {
    Operator op = graph_.operators[first];
    std::vector<AxisId> axes;
    for (TensorId& t : op.inputs) {
      const int family = rounds_.first_of[t];
      if (family >= static_cast<int>(tensor_of_.size())) return kNone;  // found later
      t = family >= 0 ? tensor_of_[family] : number_[t];
      if (t == kNone) return kNone;
      std::vector<AxisId> both;
      std::set_union(axes.begin(), axes.end(), TensorAt(t).axes.begin(), TensorAt(t).axes.end(),
                     std::back_inserter(both));
      axes = std::move(both);
    }
    const TensorId result = AddOver(graph_.tensors[op.outputs[output]], std::move(axes));
    for (TensorId& t : op.outputs) t = kNone;
    op.outputs[output] = result;
    op.memory = {};
    out_.parallel.AddOperator(std::move(op));
    return result;
  }

  std::vector<AxisId> WithPieces(std::vector<AxisId> axes) const {
    axes.push_back(pieces_);
    return axes;
  }

  bool AddFamily(const Family& family) {
    const Tensor& first = graph_.tensors[family.members[0]];
    switch (family.kind) {
      case Family::Kind::kTravelling: {
        const TensorId piece = number_[family.members[0]];
        if (piece == kNone) return false;
        std::vector<AxisId> axes = first.axes;
        const auto ring = std::find(axes.begin(), axes.end(), rounds_.axis);
        const auto from = ring - axes.begin();
        axes.erase(ring);
        const auto to = static_cast<std::ptrdiff_t>(axes.size());
        tensor_of_.push_back(AddOver(first, WithPieces(std::move(axes))));
        return Connect(MoveDimension(first.shape, first.dtype, from, to),
                       OperatorKind::kSelectInstance, {piece}, tensor_of_.back());
      }
      case Family::Kind::kComputed:
        tensor_of_.push_back(family.function == nullptr
                                 ? Apply(family.first, family.output)
                                 : ApplyToPieces(family.first, *family.function));
        return tensor_of_.back() != kNone;
      case Family::Kind::kScaled:
        return AddScaled(family);
      case Family::Kind::kMaximum:
        return AddMaximum(family);
    }
    return false;
  }

  // What stands for the operators of all rounds, whose functions differ, with the piece as a
  // coordinate. kNone if an operand is gone or has not these coordinates.
  TensorId ApplyToPieces(OperatorId first, const IndexFunction& function) {
    const Operator& op = graph_.operators[first];
    const Tensor& like = graph_.tensors[op.outputs[0]];
    std::vector<TensorId> inputs;
    for (const TensorId t : op.inputs) {
      const int family = rounds_.first_of[t];
      if (family >= static_cast<int>(tensor_of_.size())) return kNone;
      inputs.push_back(family >= 0 ? tensor_of_[family] : number_[t]);
      if (inputs.back() == kNone ||
          TensorAt(inputs.back()).axes != (family >= 0 ? WithPieces(like.axes) : like.axes)) {
        return kNone;
      }
    }
    const TensorId result = AddOver(like, WithPieces(like.axes));
    return Connect(function, OperatorKind::kCompute, std::move(inputs), result) ? result : kNone;
  }

  // Members are the first's gradient, say, scaled: x exp(M - the last M).
  bool AddScaled(const Family& family) {
    const TensorId x = number_[family.members.back()];
    const TensorId last = number_[rounds_.families[family.scale].members.back()];
    if (x == kNone || last == kNone) return false;
    const std::vector<AxisId> axes = TensorAt(x).axes;
    const TensorId scales = tensor_of_[family.scale];
    if (TensorAt(last).axes != axes || TensorAt(scales).axes != WithPieces(axes)) return false;
    tensor_of_.push_back(AddOver(graph_.tensors[family.members.back()], WithPieces(axes)));
    return Connect(ScaledByPiece(TensorAt(x).shape, TensorAt(scales).shape, TensorAt(x).dtype,
                                 axes.size(), family.scale_dims),
                   OperatorKind::kCompute, {x, scales, last}, tensor_of_.back());
  }

  // Where masks leave elements out, the last maximum is that of all elements plus a value that can
  // be anything.
  bool AddMaskedLast(const Family& family, TensorId last) {
    const TensorId of_piece = ApplyToPieces(family.first, *family.function);
    if (of_piece == kNone) return false;
    const Tensor& like = graph_.tensors[family.members.back()];
    const TensorId of_all = AddOver(like, TensorAt(last).axes);
    const TensorId anything = AddInput(like, TensorAt(last).axes);
    return Reduce(of_piece, pieces_, sdfg::ReduceKind::kMax, of_all) &&
           Connect(sdfg::AddAll(TensorAt(last).shape, like.dtype, 2), OperatorKind::kCompute,
                   {of_all, anything}, last);
  }

  bool AddUnmaskedLast(const Family& family, TensorId last) {
    const TensorId of_piece = Apply(family.first, 0);
    return of_piece != kNone && Reduce(of_piece, pieces_, sdfg::ReduceKind::kMax, last);
  }

  bool AddMaximum(const Family& family) {
    const TensorId last = number_[family.members.back()];
    if (last == kNone || !(family.function == nullptr ? AddUnmaskedLast(family, last)
                                                      : AddMaskedLast(family, last))) {
      return false;
    }
    const std::vector<AxisId> axes = WithPieces(TensorAt(last).axes);
    const TensorId anything = AddInput(graph_.tensors[family.members[0]], axes);
    tensor_of_.push_back(AddOver(graph_.tensors[family.members[0]], axes));
    const Shape& shape = TensorAt(anything).shape;
    return Connect(AddBroadcast(shape, TensorAt(anything).dtype, axes.size() - 1),
                   OperatorKind::kCompute, {anything, last}, tensor_of_.back());
  }

  // An input of the model that the model does not read, which every rank has as it is.
  TensorId AddInput(const Tensor& like, const std::vector<AxisId>& axes) {
    const TensorId input = AddOver(like, axes);
    Tensor& tensor = out_.parallel.tensors[input];
    tensor.role = sdfg::TensorRole::kInput;
    absl::StrAppend(&tensor.name, ", less the last");
    Tensor logical = tensor;
    logical.axes.clear();
    logical.device = -1;
    Lineage& lineage = out_.lineage[input];
    lineage.kind = LineageKind::kFull;
    lineage.logical = out_.logical.AddTensor(std::move(logical));
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      IndexMap map;
      map.terms.push_back({static_cast<int32_t>(d), 1});
      lineage.map.push_back(std::move(map));
    }
    return input;
  }

  // `result` is the reduction of the tensor over one of its axes.
  bool Reduce(TensorId tensor, AxisId axis, sdfg::ReduceKind kind, TensorId result) {
    const Tensor& t = TensorAt(tensor);
    const auto at = std::find(t.axes.begin(), t.axes.end(), axis);
    if (at == t.axes.end()) return false;
    std::vector<AxisId> left = t.axes;
    left.erase(left.begin() + (at - t.axes.begin()));
    if (left != TensorAt(result).axes) return false;
    return Connect(sdfg::AxisReduce(t.shape, t.dtype, static_cast<int>(at - t.axes.begin()), kind),
                   OperatorKind::kAccumulate, {tensor}, result);
  }

  bool AddTotal(const Total& total) {
    const TensorId result = number_[total.result];
    if (result == kNone) return false;
    switch (total.kind) {
      case Total::Kind::kMaximum:
        return true;  // with its family
      case Total::Kind::kSum:
        return Reduce(tensor_of_[total.family], pieces_, sdfg::ReduceKind::kSum, result);
      case Total::Kind::kOfPieces: {
        const TensorId members = tensor_of_[total.family];
        std::vector<AxisId> axes = TensorAt(result).axes;
        const auto ring = std::find(axes.begin(), axes.end(), rounds_.axis);
        if (ring == axes.end()) return false;
        const auto to = ring - axes.begin();
        axes.erase(ring);
        const auto from = static_cast<std::ptrdiff_t>(axes.size());
        const TensorId by_piece =
            AddOver(graph_.tensors[total.result], WithPieces(std::move(axes)));
        return Reduce(members, rounds_.axis, sdfg::ReduceKind::kSum, by_piece) &&
               Connect(MoveDimension(TensorAt(by_piece).shape, TensorAt(by_piece).dtype, from, to),
                       OperatorKind::kSelectInstance, {by_piece}, result);
      }
      case Total::Kind::kRescaled: {
        const TensorId terms = total.terms < 0 ? Apply(total.first, 0) : tensor_of_[total.terms];
        const TensorId scales = tensor_of_[total.family];
        const TensorId last = number_[rounds_.families[total.family].members.back()];
        if (terms == kNone || last == kNone) return false;
        const std::vector<AxisId>& axes = TensorAt(result).axes;
        if (TensorAt(terms).axes != WithPieces(axes) || TensorAt(scales).axes != WithPieces(axes) ||
            TensorAt(last).axes != axes) {
          return false;
        }
        return Connect(RescaledSum(TensorAt(terms).shape, TensorAt(scales).shape,
                                   TensorAt(terms).dtype, axes.size(), total.scale_dims),
                       OperatorKind::kAccumulate, {terms, scales, last}, result);
      }
    }
    return false;
  }

  bool Keep(Operator op) {
    for (std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
      for (TensorId& t : *tensors) {
        if (t == kNone) continue;
        t = number_[t];
        if (t == kNone) return false;
      }
    }
    out_.parallel.AddOperator(std::move(op));
    return true;
  }

  const Problem& in_;
  const Graph& graph_;
  const Rounds& rounds_;
  Problem out_;
  AxisId pieces_ = kNone;
  std::vector<TensorId> number_;     // by tensor that was read: of what is kept
  std::vector<TensorId> tensor_of_;  // by family
};

std::optional<Rounds> RoundsOf(const Problem& problem) {
  std::vector<TensorId> required;
  for (const RequiredRelation& relation : problem.required) required.push_back(relation.parallel);
  return FindRounds(problem.parallel, required);
}

}  // namespace

std::optional<Problem> FoldRounds(const Problem& problem) {
  const std::optional<Rounds> rounds_as_read = RoundsOf(problem);
  if (rounds_as_read.has_value()) return Folder(problem, *rounds_as_read).Run();
  const Problem plain = WithoutCopies(problem);
  const std::optional<Rounds> rounds = RoundsOf(plain);
  if (!rounds.has_value()) return std::nullopt;
  return Folder(plain, *rounds).Run();
}

}  // namespace planproof::lineage::rounds
