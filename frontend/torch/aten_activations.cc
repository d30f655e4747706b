// Activations and other functions of single numbers, forward and backward.
#include <utility>
#include <vector>

#include "frontend/torch/aten_derivative.h"
#include "frontend/torch/aten_operators.h"
#include "frontend/torch/python_numbers.h"
#include "frontend/torch/strided_parts.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// PyTorch computes 1 / alpha before, as a double.
absl::Status Celu(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational alpha, call.Real("alpha", 1));
  if (alpha.IsZero()) return call.NotDeclared("celu with alpha = 0");
  PLAN_ASSIGN_OR_RETURN(
      Argument y, call.One("aten_elu", {x}, {{"alpha", alpha}, {"input_scale", alpha.Inverse()}}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

// The kernels have a sixth in single precision, whatever the type of the operands: of float64 the
// derivative is not what the function's would be.
absl::Status HardSigmoidBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  if (call.targets().empty()) return call.NotDeclared("a derivative without a result");
  const solver::Rational slope = call.target(0).dtype == sdfg::DType::kFloat64
                                     ? solver::Rational::FromDouble(1.0F / 6.0F)
                                     : solver::Rational(1, 6);
  PLAN_ASSIGN_OR_RETURN(Argument z,
                        call.One("aten_hardsigmoid_backward", {g, x}, {{"slope", slope}}));
  call.Return(std::move(z));
  return absl::OkStatus();
}

// Limits have the type of what is compared with them.
absl::Status HardTanh(AtenCall& call) {
  const sdfg::DType dtype = call.Described("self").dtype;
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational low, call.RealIn(dtype, "min_val", -1));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational high, call.RealIn(dtype, "max_val", 1));
  PLAN_ASSIGN_OR_RETURN(Argument y, call.One("clamp", {x}, {{"min", low}, {"max", high}}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

absl::Status Threshold(AtenCall& call) {
  const sdfg::DType dtype = call.Described("self").dtype;
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational limit, call.RealIn(dtype, "threshold", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational value, call.RealIn(dtype, "value", 0));
  PLAN_ASSIGN_OR_RETURN(Argument y,
                        call.One("aten_threshold", {x}, {{"threshold", limit}, {"value", value}}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

// The two halves of `self` along `dim`, which is counted from the front.
absl::StatusOr<std::vector<sdfg::TensorId>> Halves(AtenCall* call, int64_t* dim) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId x, call->TensorOf("self"));
  PLAN_ASSIGN_OR_RETURN(const int64_t given, call->Integer("dim", -1));
  const sdfg::Shape shape = call->writer().tensor(x).shape;
  const std::optional<int64_t> at = DimensionOf(given, shape.size());
  if (!at || ElementsOf(shape) == 0 || shape.empty() || shape[*at] % 2 != 0)
    return call->NotDeclared("this dimension");
  *dim = *at;
  return call->Apply("chunk", {Argument::Of(x)}, {{"chunks", int64_t{2}}, {"dim", *dim}});
}

absl::Status Glu(AtenCall& call) {
  int64_t dim = 0;
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> halves, Halves(&call, &dim));
  PLAN_ASSIGN_OR_RETURN(Argument y,
                        call.One("aten_glu", {Argument::Of(halves[0]), Argument::Of(halves[1])}));
  call.Return(std::move(y));
  return absl::OkStatus();
}

absl::Status GluBackward(AtenCall& call) {
  int64_t dim = 0;
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> halves, Halves(&call, &dim));
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  const Argument b = Argument::Of(halves[1]);
  PLAN_ASSIGN_OR_RETURN(const Argument of_value, call.One("aten_glu", {g, b}));
  PLAN_ASSIGN_OR_RETURN(const Argument of_gate,
                        call.One("aten_glu_backward_gate", {g, Argument::Of(halves[0]), b}));
  PLAN_ASSIGN_OR_RETURN(Argument z, call.One("cat", {of_value, of_gate}, {{"dim", dim}}));
  call.Return(std::move(z));
  return absl::OkStatus();
}

absl::Status PReluBackward(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument g, call.Operand("grad_output"));
  PLAN_ASSIGN_OR_RETURN(const Argument x, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument w, call.Operand("weight"));
  PLAN_ASSIGN_OR_RETURN(Argument of_x, call.One("aten_prelu_backward", {g, x, w}));
  PLAN_ASSIGN_OR_RETURN(Argument of_w, call.One("aten_prelu_backward_weight", {g, x}));
  PLAN_RETURN_IF_ERROR(ReturnGradient(&call, std::move(of_x), "self"));
  return ReturnGradient(&call, std::move(of_w), "self", 1);
}

// b^x of a positive number b.
absl::Status PowerOfNumber(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const Argument base, call.Operand("self"));
  PLAN_ASSIGN_OR_RETURN(const Argument exponent, call.Operand("exponent"));
  if (!base.literal || !sdfg::IsFloating(call.target(0).dtype) || base.literal->Sign() <= 0) {
    return call.NotDeclared("a power whose base is not positive, or among integers,");
  }
  if (exponent.literal) return call.NotDeclared("a power of constants");
  PLAN_ASSIGN_OR_RETURN(Argument power, ComputeNumber(&call.writer(), "pow", {base, exponent}));
  call.Return(std::move(power));
  return absl::OkStatus();
}

}  // namespace

void AddActivations(AtenTable* table) {
  const char* const gradient = "default grad_input";
  table->Declared("elu", kAnyForm, "self *alpha *scale *input_scale", "aten_elu");
  table->Declared("elu_backward", gradient,
                  "grad_output *alpha *scale *input_scale *is_result self_or_result",
                  "aten_elu_backward");
  table->Add("celu", kAnyForm, "self alpha", Celu);
  table->Add("hardtanh", kAnyForm, "self min_val max_val", HardTanh);
  table->Declared("hardtanh_backward", gradient, "grad_output self *min_val *max_val",
                  "aten_hardtanh_backward");
  for (const char* name : {"hardsigmoid", "hardswish", "mish"}) {
    table->Declared(name, kAnyForm, "self", std::string("aten_") + name);
  }
  table->Add("hardsigmoid_backward", gradient, "grad_output self", HardSigmoidBackward);
  table->Declared("hardswish_backward", kNew, "grad_output self", "aten_hardswish_backward");
  table->Declared("mish_backward", "default", "grad_output self", "aten_mish_backward");
  table->Add("glu", kNew, "self dim", Glu);
  table->Add("glu_backward", gradient, "grad_output self dim", GluBackward);
  table->Declared("_prelu_kernel", "default", "self weight", "aten_prelu");
  table->Add("_prelu_kernel_backward", "default", "grad_output self weight", PReluBackward);
  table->Declared("softshrink", kNew, "self *lambd", "aten_softshrink");
  table->Declared("hardshrink", kNew, "self *lambd", "aten_hardshrink");
  table->Declared("softshrink_backward", gradient, "grad_output self *lambd",
                  "aten_shrink_backward");
  table->Declared("hardshrink_backward", gradient, "grad_out self *lambd", "aten_shrink_backward");
  table->Add("threshold", kAnyForm, "self threshold value", Threshold);
  table->Declared("logit", kAnyForm, "self *eps", "aten_logit");
  table->Declared("logit_backward", gradient, "grad_output self *eps", "aten_logit_backward");
  table->Declared("logaddexp", kNew, "self other", "aten_logaddexp");
  table->Declared("logaddexp2", kNew, "self other", "aten_logaddexp2");
  table->Declared("xlogy",
                  "Tensor Scalar_Other Scalar_Self _.Tensor _.Scalar_Other OutTensor "
                  "OutScalar_Other OutScalar_Self",
                  "self other", "aten_xlogy");
  table->Add("pow", "Scalar Scalar_out", "self exponent", PowerOfNumber);
  for (const char* name :
       {"exp2", "log2", "log10", "tan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc"}) {
    table->Declared(name, kAnyForm, "self", std::string("aten_") + name);
  }
}

}  // namespace planproof::frontend::torch
