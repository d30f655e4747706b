#include "lineage/multiple.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::lineage {

sdfg::TensorId AddMultiple(sdfg::TensorId tensor, const solver::Rational& factor,
                           sdfg::Graph* logical) {
  const sdfg::Tensor source = logical->tensors[tensor];
  sdfg::IndexFunctionBuilder builder("multiple");
  const int input = builder.AddInput("x", source.shape, source.dtype);
  const int output = builder.AddOutput("y", source.shape, source.dtype);
  std::vector<sdfg::ExprId> indices;
  for (const sdfg::VarId var : builder.OutputDims(output)) indices.push_back(builder.Index(var));
  builder.SetBody(output, builder.Binary(sdfg::Op::kMul, builder.Real(factor),
                                         builder.Element(input, indices)));
  sdfg::IndexFunction function;
  if (!builder.Finish(&function).ok()) return sdfg::kNone;
  sdfg::Tensor multiple;
  multiple.name = absl::StrCat(factor.ToString(), " * ", source.name);
  multiple.shape = source.shape;
  multiple.axes = source.axes;
  multiple.dtype = source.dtype;
  multiple.source = source.source;
  sdfg::Operator added;
  added.name = "multiple";
  added.kind = sdfg::OperatorKind::kMultiple;
  added.label = multiple.name;
  added.source = source.source;
  added.inputs = {tensor};
  added.outputs = {logical->AddTensor(std::move(multiple))};
  added.function = logical->Intern(std::move(function));
  const sdfg::TensorId result = added.outputs[0];
  logical->AddOperator(std::move(added));
  return result;
}

Multiple AsMultiple(const sdfg::Graph& logical, sdfg::TensorId tensor) {
  const sdfg::OperatorId producer = logical.tensors[tensor].producer;
  if (producer == sdfg::kNone ||
      logical.operators[producer].kind != sdfg::OperatorKind::kMultiple) {
    return {tensor, 1};
  }
  Multiple multiple = {logical.operators[producer].inputs[0], 1};
  for (const sdfg::Node& node : logical.operators[producer].function->nodes) {
    if (node.op == sdfg::Op::kReal) multiple.factor = node.real;
  }
  return multiple;
}

}  // namespace planproof::lineage
