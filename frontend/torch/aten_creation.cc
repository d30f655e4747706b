// Operators that make tensors from numbers, and copies.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

std::function<absl::Status(AtenCall&)> Constant(int64_t number) {
  return [number](AtenCall& call) {
    call.Return(Argument::Number(number));
    return absl::OkStatus();
  };
}

std::function<absl::Status(AtenCall&)> ValueOf(const std::string& parameter) {
  return [parameter](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand(parameter));
    call.Return(std::move(value));
    return absl::OkStatus();
  };
}

// The number itself, also if it is a scalar tensor that is not known beforehand.
absl::Status Nothing(AtenCall& call) {
  for (size_t i = 0; i < call.targets().size(); ++i) call.Return({});
  return absl::OkStatus();
}

// start, start + step, ... are `length` numbers before the end.
bool EndsThere(const solver::Rational& start, const solver::Rational& step, int64_t length,
               const solver::Rational& end) {
  const solver::Rational way = step < 0 ? start - end : end - start;
  const solver::Rational by = step < 0 ? -step : step;
  return !(by * solver::Rational(length) < way) &&
         (length == 0 || by * solver::Rational(length - 1) < way);
}

// y[i] = start + i step.
absl::Status Arange(AtenCall& call) {
  // arange(end), arange.start(start, end), arange.start_step(start, end, step)
  const bool only_end = !call.Has("end");
  PLAN_ASSIGN_OR_RETURN(const solver::Rational start,
                        call.Real(only_end ? "none" : "start_or_end", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational step, call.Real("step", 1));
  const Tensor& target = call.target(0);
  int64_t first = 0, by = 0;
  const bool whole = sdfg::IsInteger(target.dtype);
  if (whole && (!start.ToInt64(&first) || !step.ToInt64(&by))) {
    return call.NotDeclared("a range of integers in fractions");
  }
  const int64_t length = target.shape[0];
  const absl::StatusOr<solver::Rational> end = call.Real(only_end ? "start_or_end" : "end", 0);
  if (whole && end.ok() && !EndsThere(start, step, length, *end)) {
    return absl::InvalidArgumentError(absl::StrCat("arange from ", start.ToString(), " to ",
                                                   end->ToString(), " by ", step.ToString(),
                                                   " does not have ", length, " elements"));
  }
  const std::string key = absl::StrCat("arange ", sdfg::DTypeName(target.dtype), " ", length, " ",
                                       start.ToString(), " ", step.ToString());
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId made,
      call.writer().Emit(
          "arange", key,
          [&]() -> absl::StatusOr<sdfg::IndexFunction> {
            sdfg::IndexFunctionBuilder builder("arange");
            const int output = builder.AddOutput("y", sdfg::Shape{length}, target.dtype);
            const sdfg::ExprId index = builder.Index(builder.OutputDims(output)[0]);
            if (whole) {
              builder.SetBody(output,
                              builder.IntAdd(builder.Int(first), builder.IntScale(by, index)));
            } else {
              const sdfg::ExprId position = builder.Unary(sdfg::Op::kPosition, index);
              builder.SetBody(output, builder.Binary(sdfg::Op::kAdd, builder.Real(start),
                                                     builder.Binary(sdfg::Op::kMul,
                                                                    builder.Real(step), position)));
            }
            sdfg::IndexFunction function;
            PLAN_RETURN_IF_ERROR(builder.Finish(&function));
            return function;
          },
          {}));
  call.Return(Argument::Of(made));
  return absl::OkStatus();
}

}  // namespace

void AddCreation(AtenTable* table) {
  table->Add("zeros", "-size", Constant(0));
  table->Add("ones", "-size", Constant(1));
  table->Add("zeros_like zero", "-self", Constant(0));
  table->Add("ones_like", "-self", Constant(1));
  table->Add("new_zeros", "-self -size", Constant(0));
  table->Add("new_ones", "-self -size", Constant(1));
  table->Add("full", "-size fill_value", ValueOf("fill_value"));
  table->Add("new_full", "-self -size fill_value", ValueOf("fill_value"));
  table->Add("full_like", "-self fill_value", ValueOf("fill_value"));
  table->Add("scalar_tensor", "s", ValueOf("s"));
  table->Add("fill", "-self value", ValueOf("value"));
  table->Add("empty", "-size", Nothing);
  table->Add("empty_like", "-self", Nothing);
  table->Add("empty_strided", "-size -stride", Nothing);
  table->Add("empty_permuted", "-size -physical_layout", Nothing);
  table->Add("new_empty", "-self -size", Nothing);
  table->Add("new_empty_strided", "-self -size -stride", Nothing);
  table->Add("copy", "-self src -non_blocking", ValueOf("src"));
  table->Add("clone contiguous _to_copy alias_copy detach_copy lift lift_fresh_copy", "self",
             ValueOf("self"));
  // Its overloads have device, type, and whether to copy in different places.
  table->Add("to", "self -first -second -third -fourth -fifth", ValueOf("self"));
  table->Add("view_copy", "self -size", ValueOf("self"));
  table->Add("arange", "start_or_end end step", Arange);
}

}  // namespace planproof::frontend::torch
