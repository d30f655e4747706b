#include "frontend/torch/aten_derivative.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {

absl::StatusOr<sdfg::TensorId> GradientOf(AtenCall* call, const std::string& declared,
                                          const std::vector<sdfg::TensorId>& operands,
                                          const sdfg::Attributes& attributes, int wrt,
                                          sdfg::TensorId g) {
  GraphWriter& writer = call->writer();
  const auto make = [&]() -> absl::StatusOr<sdfg::IndexFunction> {
    std::vector<sdfg::Operand> described;
    for (const sdfg::TensorId tensor : operands) {
      sdfg::Operand operand;
      operand.shape = writer.tensor(tensor).shape;
      operand.dtype = writer.tensor(tensor).dtype;
      described.push_back(std::move(operand));
    }
    PLAN_ASSIGN_OR_RETURN(
        const sdfg::IndexFunction forward,
        sdfg::OperatorLibrary::BuiltIn().Instantiate(declared, described, attributes));
    if (forward.outputs[0].shape(forward.vars) != writer.tensor(g).shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("the gradient has shape [", absl::StrJoin(writer.tensor(g).shape, ", "),
                       "], which is not that of the result of ", declared));
    }
    return sdfg::Differentiate(forward, {wrt}, {0});
  };
  const std::string name = absl::StrCat(declared, "_backward");
  std::string key = absl::StrCat("derivative ", wrt, " of ", declared);
  std::vector<sdfg::TensorId> inputs = operands;
  inputs.push_back(g);
  for (const sdfg::TensorId id : inputs) {
    const sdfg::Tensor& tensor = writer.tensor(id);
    absl::StrAppend(&key, " ", sdfg::DTypeName(tensor.dtype), "[", absl::StrJoin(tensor.shape, ","),
                    "]");
  }
  for (const auto& [attribute, value] : attributes) {
    absl::StrAppend(&key, " ", attribute, "=", sdfg::AttributeText(value));
  }
  return writer.Emit(name, key, make, inputs);
}

absl::Status ReturnGradient(AtenCall* call, Argument gradient, const char* of, size_t result) {
  const sdfg::Shape& own = call->Described(of).shape;
  const bool fits =
      gradient.tensor == sdfg::kNone || call->writer().tensor(gradient.tensor).shape == own;
  if (!fits || call->target(result).shape != own) {
    return call->NotDeclared("a gradient of another shape than its operand's");
  }
  call->Return(std::move(gradient));
  return absl::OkStatus();
}

bool IsGradientWanted(const AtenCall& call, size_t gradient) {
  const std::vector<Value>& mask = call["output_mask"].list;
  return gradient >= mask.size() || mask[gradient].boolean;
}

void ReturnWantedGradients(AtenCall* call, const std::vector<sdfg::TensorId>& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (IsGradientWanted(*call, i)) call->Return(Argument::Of(gradients[i]));
  }
}

}  // namespace planproof::frontend::torch
