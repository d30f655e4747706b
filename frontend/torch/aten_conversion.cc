// The element type of an operand or a result: AtenCall::Converted and InType.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_call.h"
#include "frontend/torch/known_elements.h"
#include "frontend/torch/listed_constant.h"
#include "sdfg/native_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// Of a tensor that is only another one's whole numbers as real ones, that one; else itself.
sdfg::TensorId WithoutPosition(const sdfg::Graph& graph, sdfg::TensorId value) {
  const sdfg::OperatorId producer = graph.tensors[value].producer;
  if (producer == sdfg::kNone) return value;
  const sdfg::Operator& op = graph.operators[producer];
  const sdfg::IndexFunction& function = *op.function;
  if (op.kind != sdfg::OperatorKind::kCompute || function.outputs.size() != 1) return value;
  const sdfg::FunctionOutput& output = function.outputs[0];
  const sdfg::Node& position = function.nodes[output.body];
  if (position.op != sdfg::Op::kPosition) return value;
  const sdfg::Node& element = function.nodes[position.args[0]];
  if (element.op != sdfg::Op::kIntElement || element.args.size() != output.dims.size()) {
    return value;
  }
  for (size_t k = 0; k < element.args.size(); ++k) {
    const sdfg::Node& index = function.nodes[element.args[k]];
    if (index.op != sdfg::Op::kIndex || index.var != output.dims[k]) return value;
  }
  const sdfg::TensorId whole = op.inputs[element.input];
  return graph.tensors[whole].shape == graph.tensors[value].shape ? whole : value;
}

// int64 as int32: sizes and indices, which fit.
absl::StatusOr<sdfg::TensorId> Narrowed(GraphWriter* writer, sdfg::TensorId value) {
  const sdfg::Shape shape = writer->tensor(value).shape;
  return writer->Emit("to", absl::StrCat("int64 to int32 [", absl::StrJoin(shape, ","), "]"),
                      [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                        sdfg::IndexFunctionBuilder builder("to");
                        builder.AddInput("x", shape, sdfg::DType::kInt64);
                        const int output = builder.AddOutput("y", shape, sdfg::DType::kInt32);
                        std::vector<sdfg::ExprId> index;
                        for (sdfg::VarId var : builder.OutputDims(output)) {
                          index.push_back(builder.Index(var));
                        }
                        builder.SetBody(output, builder.IntElement(0, index));
                        builder.AddAssumption("numbers that are converted from int64 to int32 fit");
                        return sdfg::Finish(&builder);
                      },
                      {value});
}

// The integers that the real numbers of a tensor are if it is computed from constants alone, all of
// them whole numbers that its type holds: positions that are counted up. kNone if it is not.
absl::StatusOr<sdfg::TensorId> ListedWhole(GraphWriter* writer, sdfg::TensorId value,
                                           sdfg::DType dtype) {
  const sdfg::Tensor& tensor = writer->tensor(value);
  std::optional<ExactElements> elements = WholeElements(writer->graph(), value);
  if (!elements || elements->empty()) return sdfg::kNone;
  for (const solver::Rational& element : *elements) {
    if (!element.IsInteger() || !HoldsExactly(tensor.dtype, element) ||
        !HoldsExactly(dtype, element)) {
      return sdfg::kNone;
    }
  }
  Storage storage;
  storage.dtype = dtype;
  storage.size = static_cast<int64_t>(elements->size());
  storage.values = *std::move(elements);
  storage.minus_infinity.resize(storage.values.size(), false);
  const sdfg::Shape shape = tensor.shape;
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId listed, ListConstant(writer, storage));
  return writer->Reshape(listed, shape);
}

}  // namespace

absl::StatusOr<sdfg::TensorId> AtenCall::Converted(sdfg::TensorId value, sdfg::DType dtype) {
  if (writer_->tensor(value).dtype == dtype) return value;
  if (sdfg::IsInteger(dtype)) value = WithoutPosition(writer_->graph(), value);
  const sdfg::DType from = writer_->tensor(value).dtype;
  if (from == dtype) return value;
  if (!sdfg::IsFloating(dtype)) {
    std::optional<KnownNumber> number = UniformNumber(writer_->graph(), value, writer_->errors());
    if (number) number = torch::InType(*number, dtype);
    if (number) return writer_->Fill(writer_->tensor(value).shape, dtype, number->value);
  }
  if (sdfg::IsFloating(from) && sdfg::IsInteger(dtype)) {
    PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId listed, ListedWhole(writer_, value, dtype));
    if (listed != sdfg::kNone) return listed;
  }
  if (from == sdfg::DType::kInt64 && dtype == sdfg::DType::kInt32) {
    const std::optional<ExactElements> elements = WholeElements(writer_->graph(), value);
    if (elements && !std::all_of(elements->begin(), elements->end(), [](const auto& element) {
          return HoldsExactly(sdfg::DType::kInt32, element);
        })) {
      return NotDeclared("a conversion of numbers that do not fit into int32");
    }
    return Narrowed(writer_, value);
  }
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> converted,
                        writer_->Apply("to", {Argument::Of(value)},
                                       {{"dtype", std::string(sdfg::DTypeName(dtype))}}));
  return converted[0];
}

absl::StatusOr<Argument> AtenCall::InType(Argument value, sdfg::DType dtype) {
  if (value.tensor != sdfg::kNone) {
    PLAN_ASSIGN_OR_RETURN(value.tensor, Converted(value.tensor, dtype));
    return value;
  }
  if (!value.literal) return value;
  std::optional<KnownNumber> converted = torch::InType(value.number(), dtype);
  if (converted) return Argument::Number(*std::move(converted));
  return NotDeclared(
      absl::StrCat("the number ", value.literal->ToString(), " as ", sdfg::DTypeName(dtype)));
}

}  // namespace planproof::frontend::torch
