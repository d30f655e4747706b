#include "diagnosis/collective_forms.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sdfg/collectives.h"

namespace planproof::diagnosis {

using sdfg::IndexFunction;
using sdfg::ReduceKind;
using sdfg::Shape;
using sdfg::Tensor;

namespace {

constexpr int64_t kMaxPlaces = 32;  // roots and shifts that are tried

constexpr std::pair<CollectiveKind, ReduceKind> kReductions[] = {
    {CollectiveKind::kAverage, ReduceKind::kAvg},
    {CollectiveKind::kSum, ReduceKind::kSum},
    {CollectiveKind::kMaximum, ReduceKind::kMax},
    {CollectiveKind::kMinimum, ReduceKind::kMin},
};

// Equal where two functions are equal but for the name of the operator.
std::string Canonical(IndexFunction function) {
  function.operator_name.clear();
  return function.Serialize();
}

// The element of one coordinate of the axis, whose dimension is dropped.
absl::StatusOr<IndexFunction> OneOf(const Tensor& tensor, size_t axis_dim, int64_t place) {
  const bool integer = sdfg::IsInteger(tensor.dtype);
  sdfg::IndexFunctionBuilder builder("broadcast");
  const int x = builder.AddInput("x", tensor.shape, tensor.dtype);
  Shape out = tensor.shape;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis_dim));
  const int y = builder.AddOutput("y", out, tensor.dtype);
  std::vector<sdfg::ExprId> indices;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(builder.OutputDims(y))) {
    indices.push_back(builder.Index(var));
  }
  indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(axis_dim), builder.Int(place));
  builder.SetBody(y, integer ? builder.IntElement(x, indices) : builder.Element(x, indices));
  IndexFunction function;
  const absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

// The parts of all ranks along dimension `dim`, the axis' dimension dropped.
absl::StatusOr<IndexFunction> Gather(const Tensor& tensor, size_t axis_dim, size_t dim) {
  const bool integer = sdfg::IsInteger(tensor.dtype);
  const auto at = static_cast<std::ptrdiff_t>(axis_dim);
  const int64_t part = tensor.shape[dim];
  if (part == 0) return absl::InvalidArgumentError("nothing to gather");
  sdfg::IndexFunctionBuilder builder("all_gather");
  const int x = builder.AddInput("x", tensor.shape, tensor.dtype);
  Shape out = tensor.shape;
  out[dim] *= tensor.shape[axis_dim];
  out.erase(out.begin() + at);
  const int y = builder.AddOutput("y", out, tensor.dtype);
  std::vector<sdfg::ExprId> indices;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(builder.OutputDims(y))) {
    indices.push_back(builder.Index(var));
  }
  const sdfg::ExprId whole = indices[dim - 1];
  indices[dim - 1] = builder.IntMod(whole, part);
  indices.insert(indices.begin() + at, builder.IntDiv(whole, part));
  builder.SetBody(y, integer ? builder.IntElement(x, indices) : builder.Element(x, indices));
  IndexFunction function;
  const absl::Status status = builder.Finish(&function);
  if (!status.ok()) return status;
  return function;
}

class Forms {
 public:
  void Add(CollectiveKind kind, sdfg::AxisId axis, int64_t place,
           absl::StatusOr<IndexFunction> function) {
    if (!function.ok()) return;
    forms_.push_back(
        {kind, axis, place, std::make_shared<const IndexFunction>(*std::move(function))});
  }
  std::vector<CollectiveForm> Take() { return std::move(forms_); }

 private:
  std::vector<CollectiveForm> forms_;
};

// All functions from `in` to `out` along the axis that is dimension `a` of `in`.
void FormsAlong(const Tensor& in, const Tensor& out, size_t a, Forms* forms) {
  const sdfg::AxisId axis = in.axes[a];
  const int64_t ranks = in.shape[a];
  const int axis_dim = static_cast<int>(a);
  const size_t leading = in.axes.size();
  Shape dropped = in.shape;
  dropped.erase(dropped.begin() + axis_dim);
  if (out.axes.size() + 1 == leading && out.shape == dropped) {
    for (const auto& [kind, reduction] : kReductions) {
      forms->Add(kind, axis, 0, sdfg::AxisReduce(in.shape, in.dtype, axis_dim, reduction));
    }
    for (int64_t place = 0; place < std::min(ranks, kMaxPlaces); ++place) {
      forms->Add(CollectiveKind::kOne, axis, place, OneOf(in, a, place));
    }
  }
  for (size_t d = leading; out.axes.size() + 1 == leading && d < in.shape.size(); ++d) {
    Shape gathered = dropped;
    gathered[d - 1] *= ranks;
    if (gathered != out.shape) continue;
    forms->Add(CollectiveKind::kGather, axis, static_cast<int64_t>(d), Gather(in, a, d));
  }
  if (out.axes != in.axes) return;
  if (out.shape == in.shape) {
    for (const auto& [kind, reduction] : kReductions) {
      forms->Add(kind, axis, 0, sdfg::AxisAllReduce(in.shape, in.dtype, axis_dim, reduction));
    }
    for (int64_t place = 0; place < std::min(ranks, kMaxPlaces); ++place) {
      std::vector<int64_t> source(static_cast<size_t>(ranks));
      for (int64_t r = 0; r < ranks; ++r) source[r] = (r + ranks - place) % ranks;
      forms->Add(CollectiveKind::kShift, axis, place,
                 sdfg::AxisPermute(in.shape, in.dtype, axis_dim, source));
    }
    return;
  }
  for (size_t d = leading; d < in.shape.size(); ++d) {
    Shape part = in.shape;
    if (part[d] % ranks != 0) continue;
    part[d] /= ranks;
    if (part != out.shape) continue;
    const int dim = static_cast<int>(d);
    forms->Add(CollectiveKind::kPart, axis, dim,
               sdfg::AxisChunk(in.shape, in.dtype, axis_dim, dim));
    forms->Add(CollectiveKind::kScatterAverage, axis, dim,
               sdfg::AxisReduceScatter(in.shape, in.dtype, axis_dim, dim, sdfg::ReduceKind::kAvg));
    forms->Add(CollectiveKind::kScatter, axis, dim,
               sdfg::AxisReduceScatter(in.shape, in.dtype, axis_dim, dim, sdfg::ReduceKind::kSum));
  }
}

// Whether its operands are the tensors of different programs, in one shape.
bool IsOfPrograms(const sdfg::Graph& graph, const sdfg::Operator& op) {
  std::set<sdfg::Device> devices;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    devices.insert(graph.tensors[op.inputs[k]].device);
    if (op.function->inputs[k].shape != op.function->inputs[0].shape) return false;
  }
  return op.lifted && op.inputs.size() > 1 && devices.size() == op.inputs.size();
}

std::vector<CollectiveForm> AllForms(const sdfg::Graph& graph, const sdfg::Operator& op) {
  Forms forms;
  if (op.outputs.size() != 1 || op.outputs[0] == sdfg::kNone || op.inputs.empty()) return {};
  const Tensor &in = graph.tensors[op.inputs[0]], &out = graph.tensors[op.outputs[0]];
  if (IsOfPrograms(graph, op)) {
    const Shape& local = op.function->inputs[0].shape;
    const int count = static_cast<int>(op.inputs.size());
    for (const auto& [kind, reduction] : kReductions) {
      forms.Add(kind, sdfg::kNone, 0, sdfg::AllReduce(local, in.dtype, count, reduction));
    }
  } else if (!op.lifted && op.inputs.size() == 1) {
    for (size_t a = 0; a < in.axes.size(); ++a) {
      if (in.shape[a] > 1) FormsAlong(in, out, a, &forms);
    }
  }
  return forms.Take();
}

}  // namespace

bool IsReduction(CollectiveKind kind) {
  return kind == CollectiveKind::kSum || kind == CollectiveKind::kAverage ||
         kind == CollectiveKind::kMaximum || kind == CollectiveKind::kMinimum;
}

std::optional<CollectiveForm> FormOf(const sdfg::Graph& graph, const sdfg::Operator& op) {
  const std::vector<CollectiveForm> forms = AllForms(graph, op);
  if (forms.empty()) return std::nullopt;
  const std::string wanted = Canonical(*op.function);
  for (const CollectiveForm& form : forms) {
    if (Canonical(*form.function) == wanted) return form;
  }
  return std::nullopt;
}

std::vector<CollectiveForm> OtherForms(const sdfg::Graph& graph, const sdfg::Operator& op,
                                       const CollectiveForm& form) {
  std::vector<CollectiveForm> others = AllForms(graph, op);
  std::erase_if(others, [&](const CollectiveForm& other) {
    return other.axis != form.axis || (other.kind == form.kind && other.place == form.place);
  });
  return others;
}

std::shared_ptr<const IndexFunction> InOtherOrder(const Tensor& in, const Tensor& out,
                                                  const CollectiveForm& first,
                                                  const CollectiveForm& second) {
  using sdfg::ExprId;
  const auto dim_of = [](const Tensor& tensor, sdfg::AxisId axis) {
    return static_cast<size_t>(std::find(tensor.axes.begin(), tensor.axes.end(), axis) -
                               tensor.axes.begin());
  };
  const bool gathers = first.kind == CollectiveKind::kGather;
  const bool adds =
      first.kind == CollectiveKind::kScatter || first.kind == CollectiveKind::kScatterAverage;
  const bool cuts = adds || first.kind == CollectiveKind::kPart;
  // What every rank of the second axis has alike need not vary over it.
  const size_t a = dim_of(in, first.axis), b = dim_of(in, second.axis);
  const size_t axes = in.axes.size(), dim = static_cast<size_t>(first.place);
  const size_t second_axes = gathers ? out.axes.size() + 1 : out.axes.size();
  if (first.kind != second.kind || (!gathers && !cuts) || first.axis == second.axis ||
      sdfg::IsInteger(in.dtype) || a == axes ||
      (b == axes && first.kind != CollectiveKind::kPart) ||
      first.place - axes != second.place - second_axes) {
    return nullptr;
  }
  sdfg::IndexFunctionBuilder builder("in another order");
  const int x = builder.AddInput("x", in.shape, in.dtype);
  const int y = builder.AddOutput("y", out.shape, in.dtype);
  std::vector<ExprId> result;
  for (const sdfg::VarId var : std::vector<sdfg::VarId>(builder.OutputDims(y))) {
    result.push_back(builder.Index(var));
  }
  std::vector<ExprId> indices;
  ExprId body = sdfg::kNoExpr;
  if (gathers) {
    // The first axis is the inner one; now it is the outer one.
    const ExprId whole = result[dim - 2];
    size_t next = 0;
    for (size_t d = 0; d < in.shape.size(); ++d) {
      indices.push_back(d == a   ? builder.IntDiv(whole, in.shape[dim] * in.shape[b])
                        : d == b ? builder.IntMod(builder.IntDiv(whole, in.shape[dim]), in.shape[b])
                                 : result[next++]);
    }
    indices[dim] = builder.IntMod(whole, in.shape[dim]);
    body = builder.Element(x, indices);
  } else {
    const size_t outer = dim_of(out, second.axis), inner = dim_of(out, first.axis);
    for (const sdfg::AxisId axis : in.axes) indices.push_back(result[dim_of(out, axis)]);
    indices.insert(indices.end(), result.begin() + static_cast<std::ptrdiff_t>(out.axes.size()),
                   result.end());
    const int64_t part = out.shape[second.place];
    indices[dim] = builder.IntAdd(
        indices[dim], builder.IntAdd(builder.IntScale(part, result[inner]),
                                     builder.IntScale(part * in.shape[a], result[outer])));
    std::vector<sdfg::VarId> ranks;
    for (const size_t d : {a, b}) {
      if (!adds) break;
      ranks.push_back(builder.AddVar("r", in.shape[d]));
      indices[d] = builder.Index(ranks.back());
    }
    body = builder.Element(x, indices);
    for (const sdfg::VarId rank : ranks) body = builder.Reduce(sdfg::Op::kSum, rank, body);
    if (first.kind == CollectiveKind::kScatterAverage) {
      const ExprId share = builder.Real(solver::Rational(1, in.shape[a] * in.shape[b]));
      body = builder.Binary(sdfg::Op::kMul, share, body);
    }
  }
  builder.SetBody(y, body);
  IndexFunction function;
  if (!builder.Finish(&function).ok()) return nullptr;
  return std::make_shared<const IndexFunction>(std::move(function));
}

std::shared_ptr<const IndexFunction> Selection(const Tensor& tensor, size_t axis_dim,
                                               int64_t place) {
  absl::StatusOr<IndexFunction> function = OneOf(tensor, axis_dim, place);
  if (!function.ok()) return nullptr;
  return std::make_shared<const IndexFunction>(*std::move(function));
}

std::shared_ptr<const IndexFunction> Reduction(const Tensor& tensor, size_t axis_dim,
                                               CollectiveKind kind) {
  for (const auto& [known, reduction] : kReductions) {
    if (known != kind) continue;
    absl::StatusOr<IndexFunction> function =
        sdfg::AxisAllReduce(tensor.shape, tensor.dtype, static_cast<int>(axis_dim), reduction);
    if (function.ok()) return std::make_shared<const IndexFunction>(*std::move(function));
  }
  return nullptr;
}

}  // namespace planproof::diagnosis
