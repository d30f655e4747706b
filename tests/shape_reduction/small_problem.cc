#include "tests/shape_reduction/small_problem.h"

#include <gtest/gtest.h>

#include <utility>

#include "sdfg/operator_library.h"

namespace planproof::shape_reduction {

using sdfg::TensorId;

TensorId SmallProblem::Logical(const std::string& name, sdfg::Shape shape, sdfg::TensorRole role,
                               sdfg::DType dtype) {
  sdfg::Tensor tensor;
  tensor.name = name;
  tensor.shape = std::move(shape);
  tensor.role = role;
  tensor.dtype = dtype;
  return problem.logical.AddTensor(std::move(tensor));
}

lineage::Lineage SmallProblem::SliceLineage(TensorId logical, const std::vector<int64_t>& start,
                                            size_t rank) const {
  lineage::Lineage lineage;
  lineage.kind = lineage::LineageKind::kFull;
  lineage.logical = logical;
  for (size_t d = 0; d < rank; ++d) {
    lineage::IndexMap map;
    map.constant = start[d];
    map.terms.push_back({.dim = static_cast<int32_t>(d)});
    lineage.map.push_back(map);
  }
  return lineage;
}

TensorId SmallProblem::Slice(TensorId logical, std::vector<int64_t> start, sdfg::Shape shape,
                             sdfg::Device device) {
  sdfg::Tensor tensor = problem.logical.tensors[logical];
  tensor.name +=
      "@" + std::to_string(device) + "#" + std::to_string(problem.parallel.tensors.size());
  tensor.shape = std::move(shape);
  tensor.device = device;
  tensor.producer = sdfg::kNone;
  const TensorId id = problem.parallel.AddTensor(std::move(tensor));
  Claim(id, logical, std::move(start));
  return id;
}

TensorId SmallProblem::Apply(sdfg::Graph* graph, sdfg::IndexFunction function,
                             const std::vector<TensorId>& inputs, sdfg::Device device) {
  sdfg::Operator op;
  op.name = function.operator_name;
  op.inputs = inputs;
  for (const sdfg::FunctionOutput& output : function.outputs) {
    sdfg::Tensor tensor;
    tensor.name = op.name + "." + std::to_string(graph->tensors.size());
    tensor.shape = output.shape(function.vars);
    tensor.dtype = output.dtype;
    tensor.device = device;
    op.outputs.push_back(graph->AddTensor(std::move(tensor)));
  }
  if (device >= 0) op.devices.push_back(device);
  op.function = graph->Intern(std::move(function));
  const TensorId first = op.outputs[0];
  graph->AddOperator(std::move(op));
  problem.lineage.resize(problem.parallel.tensors.size());
  return first;
}

void SmallProblem::Claim(TensorId parallel, TensorId logical, std::vector<int64_t> start) {
  problem.lineage.resize(problem.parallel.tensors.size());
  problem.lineage[parallel] =
      SliceLineage(logical, start, problem.parallel.tensors[parallel].shape.size());
}

void SmallProblem::Require(TensorId parallel, TensorId logical, std::vector<int64_t> start) {
  const size_t rank = problem.parallel.tensors[parallel].shape.size();
  problem.required.push_back(
      {parallel, SliceLineage(logical, start, rank), problem.logical.tensors[logical].name});
}

void SmallProblem::Check() {
  const absl::Status logical = problem.logical.Check();
  EXPECT_TRUE(logical.ok()) << logical;
  const absl::Status parallel = problem.parallel.Check();
  EXPECT_TRUE(parallel.ok()) << parallel;
}

sdfg::IndexFunction Instantiate(const std::string& name, const std::vector<sdfg::Shape>& shapes) {
  std::vector<sdfg::Operand> operands;
  for (const sdfg::Shape& shape : shapes) {
    sdfg::Operand operand;
    operand.shape = shape;
    operand.dtype = sdfg::DType::kFloat32;
    operands.push_back(operand);
  }
  auto function = sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, {});
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *function : sdfg::IndexFunction();
}

namespace {

sdfg::IndexFunction Finished(sdfg::IndexFunctionBuilder* builder) {
  sdfg::IndexFunction function;
  EXPECT_TRUE(builder->Finish(&function).ok());
  return function;
}

}  // namespace

sdfg::IndexFunction Join(int64_t first, int64_t second) {
  sdfg::IndexFunctionBuilder builder("join");
  builder.AddInput("a", {first}, sdfg::DType::kFloat32);
  builder.AddInput("b", {second}, sdfg::DType::kFloat32);
  const int output = builder.AddOutput("y", sdfg::Shape{first + second}, sdfg::DType::kFloat32);
  const sdfg::ExprId i = builder.Index(builder.OutputDims(output)[0]);
  const sdfg::ExprId in_second = builder.IntSub(i, builder.Int(first));
  builder.SetBody(output, builder.Select(builder.Binary(sdfg::Op::kIntLess, i, builder.Int(first)),
                                         builder.Element(0, {i}), builder.Element(1, {in_second})));
  return Finished(&builder);
}

sdfg::IndexFunction RowsOf(int64_t size, int64_t start, int64_t rows) {
  sdfg::IndexFunctionBuilder builder("part");
  builder.AddInput("x", {size}, sdfg::DType::kFloat32);
  const int output = builder.AddOutput("y", sdfg::Shape{rows, 2}, sdfg::DType::kFloat32);
  const auto dims = builder.OutputDims(output);
  const sdfg::ExprId row = builder.IntScale(2, builder.Index(dims[0]));
  const sdfg::ExprId place =
      builder.IntAdd(builder.IntAdd(row, builder.Index(dims[1])), builder.Int(start));
  builder.SetBody(output, builder.Element(0, {place}));
  return Finished(&builder);
}

}  // namespace planproof::shape_reduction
