// Operators that make tensors from numbers, and copies.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torch/aten_operators.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

std::function<absl::Status(AtenCall&)> Constant(int64_t number) {
  return [number](AtenCall& call) {
    call.ReturnBroadcast(Argument::Number(number));
    return absl::OkStatus();
  };
}

// The number itself, also if it is a scalar tensor that is not known beforehand, or a tensor that
// is broadcast.
std::function<absl::Status(AtenCall&)> FilledWith(const std::string& parameter) {
  return [parameter](AtenCall& call) -> absl::Status {
    PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand(parameter));
    call.ReturnBroadcast(std::move(value));
    return absl::OkStatus();
  };
}

absl::Status Same(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(Argument value, call.Operand("self"));
  call.Return(std::move(value));
  return absl::OkStatus();
}

// The elements in their order in another shape.
absl::Status ViewCopy(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId self, call.TensorOf("self"));
  const sdfg::Shape& shape = call.target(0).shape;
  if (ElementsOf(shape) != ElementsOf(call.writer().tensor(self).shape)) {
    return call.NotDeclared("a view of another number of elements");
  }
  PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId copy, call.writer().Reshape(self, shape));
  call.Return(Argument::Of(copy));
  return absl::OkStatus();
}

// Memory that nobody has written.
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
  PLAN_ASSIGN_OR_RETURN(const solver::Rational start, call.Real("start", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational step, call.Real("step", 1));
  const Tensor& target = call.target(0);
  int64_t first = 0, by = 0;
  const bool whole = sdfg::IsInteger(target.dtype);
  if (whole && (!start.ToInt64(&first) || !step.ToInt64(&by))) {
    return call.NotDeclared("a range of integers in fractions");
  }
  if (target.shape.size() != 1 || (!whole && !sdfg::IsFloating(target.dtype))) {
    return call.NotDeclared("a range of this type");
  }
  const int64_t length = target.shape[0];
  const solver::Rational last = start + step * solver::Rational(std::max<int64_t>(length - 1, 0));
  if (whole && (!HoldsExactly(target.dtype, start) || !HoldsExactly(target.dtype, last))) {
    return call.NotDeclared("a range of numbers that do not fit into their type");
  }
  const absl::StatusOr<solver::Rational> end = call.Real("end", 0);
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

// A tensor of real numbers that `body` gives of its indices; `key` determines them.
absl::Status ReturnMade(AtenCall* call, const std::string& name, const std::string& key,
                        const std::function<sdfg::ExprId(sdfg::IndexFunctionBuilder*,
                                                         const std::vector<sdfg::VarId>&)>& body) {
  const Tensor& target = call->target(0);
  if (!sdfg::IsFloating(target.dtype)) return call->NotDeclared(name + " of integers");
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::TensorId made,
      call->writer().Emit(name,
                          absl::StrCat(key, " ", sdfg::DTypeName(target.dtype), "[",
                                       absl::StrJoin(target.shape, ","), "]"),
                          [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                            sdfg::IndexFunctionBuilder builder(name);
                            const int output = builder.AddOutput("y", target.shape, target.dtype);
                            builder.SetBody(output, body(&builder, builder.OutputDims(output)));
                            sdfg::IndexFunction function;
                            PLAN_RETURN_IF_ERROR(builder.Finish(&function));
                            return function;
                          },
                          {}));
  call->Return(Argument::Of(made));
  return absl::OkStatus();
}

// y[i] = start + i (end - start) / (steps - 1).
absl::Status Linspace(AtenCall& call) {
  PLAN_ASSIGN_OR_RETURN(const solver::Rational start, call.Real("start", 0));
  PLAN_ASSIGN_OR_RETURN(const solver::Rational end, call.Real("end", 0));
  PLAN_ASSIGN_OR_RETURN(const int64_t steps, call.Integer("steps", std::nullopt));
  if (call.target(0).shape != sdfg::Shape{steps}) return call.NotDeclared("these steps");
  const solver::Rational step =
      steps > 1 ? (end - start) / solver::Rational(steps - 1) : solver::Rational(0);
  return ReturnMade(&call, "linspace",
                    absl::StrCat("linspace ", start.ToString(), " ", end.ToString()),
                    [&](sdfg::IndexFunctionBuilder* b, const std::vector<sdfg::VarId>& dims) {
                      const sdfg::ExprId at = b->Unary(sdfg::Op::kPosition, b->Index(dims[0]));
                      return b->Binary(sdfg::Op::kAdd, b->Real(start),
                                       b->Binary(sdfg::Op::kMul, b->Real(step), at));
                    });
}

// 1 on the diagonal.
absl::Status Eye(AtenCall& call) {
  if (call.target(0).shape.size() != 2) return call.NotDeclared("this shape");
  return ReturnMade(
      &call, "eye", "eye", [](sdfg::IndexFunctionBuilder* b, const std::vector<sdfg::VarId>& dims) {
        return b->Unary(sdfg::Op::kIndicator,
                        b->Binary(sdfg::Op::kIntEq, b->Index(dims[0]), b->Index(dims[1])));
      });
}

}  // namespace

void AddCreation(AtenTable* table) {
  table->Add("zeros", kNew, "-size", Constant(0));
  table->Add("ones", kNew, "-size", Constant(1));
  table->Add("zeros_like", kNew, "-self", Constant(0));
  table->Add("_efficientzerotensor", "default", "-size", Constant(0));
  table->Add("zero", kAnyForm, "-self", Constant(0));
  table->Add("ones_like", kNew, "-self", Constant(1));
  table->Add("new_zeros", kNew, "-self -size", Constant(0));
  table->Add("new_ones", kNew, "-self -size", Constant(1));
  table->Add("full", kNew, "-size fill_value", FilledWith("fill_value"));
  table->Add("new_full", kNew, "-self -size fill_value", FilledWith("fill_value"));
  table->Add("full_like", kNew, "-self fill_value", FilledWith("fill_value"));
  table->Add("scalar_tensor", kNew, "s", FilledWith("s"));
  table->Add("fill", "Scalar Tensor _.Scalar _.Tensor Scalar_out Tensor_out", "-self value",
             FilledWith("value"));
  table->Add("empty", "memory_format out", "-size", Nothing);
  table->Add("empty_like", kNew, "-self", Nothing);
  table->Add("empty_strided", kNew, "-size -stride", Nothing);
  table->Add("empty_permuted", kNew, "-size -physical_layout", Nothing);
  table->Add("new_empty", kNew, "-self -size", Nothing);
  table->Add("new_empty_strided", kNew, "-self -size -stride", Nothing);
  table->Add("copy", kAnyForm, "-self src", FilledWith("src"));
  table->Add("clone _to_copy alias_copy detach_copy lift lift_fresh_copy", kNew, "self", Same);
  table->Add("contiguous", "default", "self", Same);
  table->Add("to", "device dtype other dtype_layout", "self -other", Same);
  table->Add("view_copy", kNew, "self -size", ViewCopy);
  table->Add("arange", "default start start_step out start_out", "start end step", Arange);
  table->Add("linspace", kNew, "start end steps", Linspace);
  table->Add("eye", "default m", "-n -m", Eye);
}

}  // namespace planproof::frontend::torch
