#include "tests/random/plan_builder.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::random_tests {

using sdfg::DType;
using sdfg::Shape;
using sdfg::TensorId;

namespace {

constexpr int64_t kLeast = 3;  // elements of a piece

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::cerr << "the generator of plans is wrong: " << value.status() << std::endl;
    std::abort();
  }
  return *std::move(value);
}

}  // namespace

PlanBuilder::PlanBuilder(uint64_t seed, int faulty) : random_(seed), faulty_(faulty) {
  devices_ = static_cast<int>(Pick(2, 3));
}

int64_t PlanBuilder::Pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

bool PlanBuilder::Fault(const std::string& what) {
  if (places_++ != faulty_) return false;
  fault_ = what;
  return true;
}

const Shape& PlanBuilder::ShapeOf(TensorId parallel) const {
  return problem_.parallel.tensors[parallel].shape;
}

lineage::Lineage PlanBuilder::BoxLineage(TensorId logical,
                                         const std::vector<int64_t>& start) const {
  lineage::Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = logical;
  for (size_t d = 0; d < start.size(); ++d) {
    lineage.map.push_back({.constant = start[d], .terms = {{.dim = static_cast<int32_t>(d)}}});
  }
  return lineage;
}

TensorId PlanBuilder::Input(const std::string& name, const Shape& shape, bool parameter) {
  sdfg::Tensor tensor;
  tensor.name = absl::StrCat(name, names_++);
  tensor.shape = shape;
  tensor.dtype = DType::kFloat32;
  tensor.role = parameter ? sdfg::TensorRole::kParameter : sdfg::TensorRole::kInput;
  return problem_.logical.AddTensor(std::move(tensor));
}

TensorId PlanBuilder::Box(TensorId logical, const std::vector<int64_t>& start, const Shape& shape,
                          int device) {
  const Shape whole = problem_.logical.tensors[logical].shape;
  std::vector<int64_t> from = start;
  int moved = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < whole[d]) moved = static_cast<int>(d);
  }
  if (moved >= 0 && Fault(absl::StrCat("another slice of an input on device ", device))) {
    from[moved] += from[moved] + shape[moved] < whole[moved] ? 1 : -1;
  }
  const bool sliced = moved >= 0 && Pick(0, 2) == 0;
  sdfg::Tensor tensor = problem_.logical.tensors[logical];
  absl::StrAppend(&tensor.name, "@", device, "#", names_++);
  tensor.device = device;
  tensor.shape = sliced ? whole : shape;
  const TensorId id = problem_.parallel.AddTensor(std::move(tensor));
  problem_.lineage.resize(problem_.parallel.tensors.size());
  problem_.lineage[id] = BoxLineage(logical, sliced ? std::vector<int64_t>(shape.size(), 0) : from);
  if (!sliced) return id;
  TensorId part = id;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < whole[d]) part = Slice(device, part, static_cast<int>(d), from[d], shape[d]);
  }
  return part;
}

TensorId PlanBuilder::Apply(sdfg::Graph* graph, sdfg::IndexFunction function,
                            const std::vector<TensorId>& inputs, int device, bool collective) {
  sdfg::Operator op;
  op.name = function.operator_name;
  op.inputs = inputs;
  sdfg::Tensor tensor;
  tensor.name = absl::StrCat(op.name, ".", names_++);
  tensor.shape = function.outputs[0].shape(function.vars);
  tensor.dtype = function.outputs[0].dtype;
  tensor.device = device;
  const TensorId id = graph->AddTensor(std::move(tensor));
  op.outputs = {id};
  op.label = absl::StrCat("step ", names_++);
  if (device >= 0 && !collective) op.devices = {device};
  for (int d = 0; d < devices_ && collective; ++d) op.devices.push_back(d);
  op.function = graph->Intern(std::move(function));
  graph->AddOperator(std::move(op));
  problem_.lineage.resize(problem_.parallel.tensors.size());
  return id;
}

TensorId PlanBuilder::Logical(const std::string& name, const std::vector<TensorId>& inputs,
                              const sdfg::Attributes& attributes) {
  std::vector<sdfg::Operand> operands;
  for (TensorId id : inputs) {
    const sdfg::Tensor& tensor = problem_.logical.tensors[id];
    operands.push_back({.shape = tensor.shape, .dtype = tensor.dtype});
  }
  return Apply(&problem_.logical,
               Must(sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes)),
               inputs, -1, false);
}

TensorId PlanBuilder::On(int device, const std::string& name, const std::vector<TensorId>& inputs,
                         const sdfg::Attributes& attributes) {
  std::vector<sdfg::Operand> operands;
  for (TensorId id : inputs) {
    const sdfg::Tensor& tensor = problem_.parallel.tensors[id];
    operands.push_back({.shape = tensor.shape, .dtype = tensor.dtype});
  }
  return Apply(&problem_.parallel,
               Must(sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, attributes)),
               inputs, device, false);
}

TensorId PlanBuilder::OnWithNumber(int device, const std::string& name, TensorId input,
                                   const solver::Rational& number) {
  sdfg::Graph* graph = device < 0 ? &problem_.logical : &problem_.parallel;
  const sdfg::Tensor& tensor = graph->tensors[input];
  const std::vector<sdfg::Operand> operands = {
      {.shape = tensor.shape, .dtype = tensor.dtype},
      {.kind = sdfg::Operand::Kind::kLiteral, .literal = number}};
  return Apply(graph, Must(sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, {})),
               {input}, device, false);
}

TensorId PlanBuilder::Slice(int device, TensorId tensor, int dim, int64_t start, int64_t length) {
  return On(device, "slice", {tensor},
            {{"dim", int64_t{dim}}, {"start", start}, {"stop", start + length}});
}

TensorId PlanBuilder::Collective(int device, sdfg::IndexFunction function,
                                 const std::vector<TensorId>& inputs) {
  return Apply(&problem_.parallel, std::move(function), inputs, device, true);
}

Value PlanBuilder::Named(Value value) {
  for (const Piece& piece : value.pieces) {
    if (Pick(0, 4) > 0) {
      problem_.lineage[piece.tensor] = BoxLineage(value.logical, piece.start);
    }
  }
  return value;
}

std::vector<int64_t> PlanBuilder::RandomCuts(int64_t extent) {
  std::vector<int64_t> bounds = {0};
  for (int d = 1; d < devices_; ++d) {
    const int64_t rest = devices_ - d;  // pieces that must still fit
    bounds.push_back(Pick(bounds.back() + kLeast, extent - rest * kLeast));
  }
  bounds.push_back(extent);
  longest_ = std::max(longest_, extent);
  return bounds;
}

Value PlanBuilder::Whole(const Value& x) {
  if (x.cut < 0) return x;
  Value y = x;
  y.cut = -1;
  for (int device = 0; device < devices_; ++device) {
    std::vector<Shape> shapes;
    std::vector<TensorId> inputs;
    for (const Piece& piece : x.pieces) {
      shapes.push_back(piece.shape);
      inputs.push_back(piece.tensor);
    }
    if (Fault(absl::StrCat("pieces gathered in another order on device ", device))) {
      std::rotate(shapes.begin(), shapes.begin() + 1, shapes.end());
      std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
    }
    Piece& piece = y.pieces[device];
    piece.tensor =
        Collective(device, Must(sdfg::AllGather(shapes, DType::kFloat32, x.cut)), inputs);
    piece.start.assign(x.shape.size(), 0);
    piece.shape = x.shape;
  }
  return Named(std::move(y));
}

Value PlanBuilder::Cut(const Value& x, int dim) {
  const std::vector<int64_t> bounds = RandomCuts(x.shape[dim]);
  Value y = x;
  y.cut = dim;
  for (int device = 0; device < devices_; ++device) {
    Piece& piece = y.pieces[device];
    const int64_t length = bounds[device + 1] - bounds[device];
    int64_t start = bounds[device];
    if (Fault(absl::StrCat("slice shifted by one on device ", device))) {
      start += start + length < x.shape[dim] ? 1 : -1;
    }
    piece.tensor = Slice(device, x.pieces[device].tensor, dim, start, length);
    piece.start[dim] = bounds[device];
    piece.shape[dim] = length;
  }
  return Named(std::move(y));
}

Value PlanBuilder::Reduced(TensorId logical, const Shape& shape, const std::vector<TensorId>& terms,
                           sdfg::ReduceKind kind) {
  Value y{.logical = logical, .shape = shape};
  for (int device = 0; device < devices_; ++device) {
    TensorId whole = terms[device];
    if (!Fault(absl::StrCat("no reduction on device ", device))) {
      sdfg::ReduceKind used = kind;
      if (Fault(absl::StrCat("another kind of reduction on device ", device))) {
        used = kind == sdfg::ReduceKind::kSum ? sdfg::ReduceKind::kAvg : sdfg::ReduceKind::kSum;
      }
      std::vector<TensorId> inputs = terms;
      if (Fault(absl::StrCat("one term is doubled on device ", device))) {
        const int term = (device + 1) % devices_;
        inputs[term] = OnWithNumber(term, "mul", inputs[term], solver::Rational(2));
      }
      whole = Collective(device,
                         Must(sdfg::AllReduce(ShapeOf(terms[0]), DType::kFloat32, devices_, used)),
                         inputs);
    }
    y.pieces.push_back({whole, std::vector<int64_t>(shape.size(), 0), shape});
  }
  return y;
}

void PlanBuilder::Require(const Value& x) {
  for (const Piece& piece : x.pieces) {
    problem_.required.push_back(
        {piece.tensor, BoxLineage(x.logical, piece.start),
         absl::StrCat("result on device ", problem_.parallel.tensors[piece.tensor].device)});
  }
}

lineage::Problem PlanBuilder::TakeProblem() {
  problem_.lineage.resize(problem_.parallel.tensors.size());
  for (sdfg::Graph* graph : {&problem_.logical, &problem_.parallel}) {
    if (const absl::Status status = graph->Check(); !status.ok()) {
      std::cerr << "the generator of plans is wrong: " << status << std::endl;
      std::abort();
    }
  }
  return std::move(problem_);
}

}  // namespace planproof::random_tests
