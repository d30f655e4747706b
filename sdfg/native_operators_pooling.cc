// Maxima, minima, sums and means of windows.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "sdfg/limit.h"
#include "sdfg/native_operators_windows.h"

namespace planproof::sdfg {
namespace {

using solver::Rational;

enum class Pool { kMax, kMin, kSum };

// The place of element `element` of window `output` along axis `number`.
using PlaceFunction = absl::FunctionRef<WindowPlace(IndexFunctionBuilder* builder, size_t number,
                                                    ExprId output, ExprId element)>;

// A pooling over the last dimensions of x, as many as there are axes.
class Pooling {
 public:
  Pooling(const NativeCall& call, std::vector<WindowAxis> axes)
      : builder_(call.name), axes_(std::move(axes)) {
    const Shape& x = call.operands[0].shape;
    first_ = x.size() - axes_.size();
    builder_.AddInput("x", x, call.operands[0].dtype);
    Shape y = x;
    for (size_t k = 0; k < axes_.size(); ++k) y[first_ + k] = axes_[k].output;
    output_ = builder_.AddOutput("y", y, call.operands[0].dtype);
    for (VarId var : builder_.OutputDims(output_)) y_.push_back(builder_.Index(var));
  }

  ExprId Pooled(Pool pool, PlaceFunction place) {
    std::vector<ExprId> x(y_.begin(), y_.begin() + first_);
    std::vector<VarId> vars;
    std::vector<ExprId> inside;
    for (size_t k = 0; k < axes_.size(); ++k) {
      vars.push_back(builder_.AddVar("k" + std::to_string(k), axes_[k].window));
      const ExprId element = builder_.Index(vars.back());
      const WindowPlace at = place(&builder_, k, y_[first_ + k], element);
      x.push_back(at.index);
      inside.push_back(at.inside);
    }
    ExprId body = builder_.Element(0, x);
    if (pool == Pool::kMin) body = builder_.Unary(Op::kNeg, body);
    // Each condition stands where its variable is bound, so that a maximum within is one of
    // elements.
    for (size_t k = axes_.size(); k-- > 0;) {
      if (inside[k] != kNoExpr) {
        const ExprId outside = pool == Pool::kSum ? builder_.Real(0) : builder_.NegInf();
        body = builder_.Select(inside[k], body, outside);
      }
      body = pool == Pool::kSum ? builder_.Reduce(Op::kSum, vars[k], body)
                                : builder_.Reduce(Op::kReduceMax, vars[k], body, TieRule::kFirst);
    }
    return pool == Pool::kMin ? builder_.Unary(Op::kNeg, body) : body;
  }

  // The sum divided by counts[k][o_k] for each axis k.
  absl::StatusOr<ExprId> Divided(ExprId sum, const std::vector<std::vector<int64_t>>& counts) {
    Rational constant(1);
    ExprId result = sum;
    for (size_t k = 0; k < counts.size(); ++k) {
      std::vector<int64_t> ends;  // of runs of equal counts
      for (size_t o = 0; o < counts[k].size(); ++o) {
        if (o + 1 == counts[k].size() || counts[k][o + 1] != counts[k][o]) {
          ends.push_back(static_cast<int64_t>(o) + 1);
        }
      }
      if (ends.size() > 256) return BeyondLimit("kinds of windows", ends.size(), "256");
      const auto share = [&](int64_t end) { return Rational(1, counts[k][end - 1]); };
      if (ends.size() == 1) {
        constant = constant * share(ends[0]);
        continue;
      }
      ExprId factor = builder_.Real(share(ends.back()));
      for (size_t r = ends.size() - 1; r-- > 0;) {
        factor =
            builder_.Select(builder_.Binary(Op::kIntLess, y_[first_ + k], builder_.Int(ends[r])),
                            builder_.Real(share(ends[r])), factor);
      }
      result = builder_.Binary(Op::kMul, result, factor);
    }
    if (constant.IsOne()) return result;
    return builder_.Binary(Op::kMul, builder_.Real(constant), result);
  }

  absl::StatusOr<IndexFunction> Finished(ExprId body) {
    builder_.SetBody(output_, body);
    return Finish(&builder_);
  }
  const std::vector<WindowAxis>& axes() const { return axes_; }

 private:
  IndexFunctionBuilder builder_;
  std::vector<WindowAxis> axes_;
  size_t first_ = 0;
  int output_ = 0;
  std::vector<ExprId> y_;
};

// Whether x has windows over its last `space` dimensions, one or two more before them.
absl::Status CheckOperand(const NativeCall& call, size_t space) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  if (x->size() != space + 2 && x->size() != space + 1) {
    return call.Error(absl::StrCat("operand x has ", x->size(), " dimensions; expected ", space + 2,
                                   ", or ", space + 1, " without a batch"));
  }
  if (IsInteger(call.operands[0].dtype)) return NotCovered(call, "pooling of integers");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WindowAxis>> ReadAxes(const NativeCall& call, size_t space,
                                                 bool dilated) {
  absl::Status status = CheckOperand(call, space);
  if (!status.ok()) return status;
  const auto window = PerDimension(call, "kernel_size", space, 1, {});
  if (!window.ok()) return window.status();
  const auto stride = PerDimension(call, "stride", space, 1, *window);
  if (!stride.ok()) return stride.status();
  const auto padding = PerDimension(call, "padding", space, 0, {});
  if (!padding.ok()) return padding.status();
  std::vector<int64_t> dilation(space, 1);
  if (dilated) {
    const auto given = PerDimension(call, "dilation", space, 1, {});
    if (!given.ok()) return given.status();
    dilation = *given;
  }
  const Shape& x = call.operands[0].shape;
  std::vector<WindowAxis> axes(space);
  for (size_t k = 0; k < space; ++k) {
    WindowAxis& axis = axes[k];
    axis.input = x[x.size() - space + k];
    axis.window = (*window)[k];
    axis.stride = (*stride)[k];
    axis.dilation = dilation[k];
    axis.before = axis.after = (*padding)[k];
    if (axis.window > (1 << 20)) return BeyondLimit("extent of a window", axis.window, "2^20");
    if (2 * axis.before > axis.window) {
      return call.Error(
          absl::StrCat("padding ", axis.before, " is more than half of the window, ", axis.window));
    }
    status = SetOutputExtent(call, call.Bool("ceil_mode"), &axis);
    if (!status.ok()) return status;
  }
  return axes;
}

absl::StatusOr<IndexFunction> MaxPool(const NativeCall& call, size_t space) {
  const auto axes = ReadAxes(call, space, true);
  if (!axes.ok()) return axes.status();
  for (const WindowAxis& axis : *axes) {
    const absl::Status status = EveryWindowHasAnElement(call, axis);
    if (!status.ok()) return status;
  }
  Pooling pooling(call, *axes);
  return pooling.Finished(pooling.Pooled(
      Pool::kMax, [&](IndexFunctionBuilder* builder, size_t k, ExprId output, ExprId element) {
        return PlaceInWindow(builder, (*axes)[k], output, element);
      }));
}

absl::StatusOr<IndexFunction> AveragePool(const NativeCall& call, size_t space) {
  const auto axes = ReadAxes(call, space, false);
  if (!axes.ok()) return axes.status();
  std::vector<std::vector<int64_t>> counts;
  const bool overridden = space > 1 && !call.IsNone("divisor_override");
  if (overridden) {
    const int64_t divisor = call.Int("divisor_override");
    if (divisor == 0) return call.Error("divisor_override is 0");
    counts.push_back({divisor});
  }
  for (const WindowAxis& axis : *axes) {
    if (overridden) break;
    if (axis.output > (1 << 20)) return BeyondLimit("windows", axis.output, "2^20");
    std::vector<int64_t>& count = counts.emplace_back();
    for (int64_t o = 0; o < axis.output; ++o) {
      int64_t begin = o * axis.stride - axis.before;
      int64_t end = std::min(begin + axis.window, axis.input + axis.after);
      if (!call.Bool("count_include_pad")) {
        begin = std::max<int64_t>(begin, 0);
        end = std::min(end, axis.input);
      }
      if (end <= begin) return NotCovered(call, absl::StrCat("window ", o, " has no elements"));
      count.push_back(end - begin);
    }
  }
  Pooling pooling(call, *axes);
  const ExprId sum = pooling.Pooled(
      Pool::kSum, [&](IndexFunctionBuilder* builder, size_t k, ExprId output, ExprId element) {
        return PlaceInWindow(builder, (*axes)[k], output, element);
      });
  const absl::StatusOr<ExprId> mean = pooling.Divided(sum, counts);
  if (!mean.ok()) return mean.status();
  return pooling.Finished(*mean);
}

// Window o of `output` ones over `input` elements: from floor(o * input / output) to, not with,
// ceil((o + 1) * input / output).
absl::StatusOr<IndexFunction> AdaptivePool(const NativeCall& call, size_t space, Pool pool) {
  absl::Status status = CheckOperand(call, space);
  if (!status.ok()) return status;
  const auto size = PerDimension(call, "output_size", space, 1, {});
  if (!size.ok()) return size.status();
  const Shape& x = call.operands[0].shape;
  std::vector<WindowAxis> axes(space);
  std::vector<std::vector<int64_t>> counts(space);
  for (size_t k = 0; k < space; ++k) {
    WindowAxis& axis = axes[k];
    axis.input = x[x.size() - space + k];
    axis.output = (*size)[k];
    for (const int64_t extent : {axis.input, axis.output}) {
      if (extent > (1 << 20)) return BeyondLimit("extent under a window", extent, "2^20");
    }
    if (axis.input < 1) return NotCovered(call, "windows over a dimension of extent 0");
    for (int64_t o = 0; o < axis.output; ++o) {
      const int64_t begin = o * axis.input / axis.output;
      const int64_t end = ((o + 1) * axis.input + axis.output - 1) / axis.output;
      counts[k].push_back(end - begin);
      axis.window = std::max(axis.window, end - begin);
    }
    axis.stride = axis.window;  // where all are alike
  }
  Pooling pooling(call, axes);
  const ExprId pooled = pooling.Pooled(
      pool, [&](IndexFunctionBuilder* b, size_t k, ExprId output, ExprId element) -> WindowPlace {
        const WindowAxis& axis = axes[k];
        if (axis.input % axis.output == 0) return PlaceInWindow(b, axis, output, element);
        const ExprId begin = b->IntDiv(b->IntScale(axis.input, output), axis.output);
        const ExprId next = b->IntScale(axis.input, b->IntAdd(output, b->Int(1)));
        const ExprId end = b->IntDiv(b->IntAdd(next, b->Int(axis.output - 1)), axis.output);
        const ExprId index = b->IntAdd(begin, element);
        return {index, b->Binary(Op::kIntLess, index, end)};
      });
  if (pool != Pool::kSum) return pooling.Finished(pooled);
  const absl::StatusOr<ExprId> mean = pooling.Divided(pooled, counts);
  if (!mean.ok()) return mean.status();
  return pooling.Finished(*mean);
}

absl::StatusOr<IndexFunction> ReduceWindow(const NativeCall& call, Pool pool) {
  const absl::StatusOr<Shape> x = call.TensorShape(0, "x");
  if (!x.ok()) return x.status();
  if (IsInteger(call.operands[0].dtype)) return NotCovered(call, "windows of integers");
  const size_t rank = x->size();
  const std::vector<int64_t> ones(rank, 1);
  const auto window = PerDimension(call, "window_dimensions", rank, 1, {});
  const auto stride = PerDimension(call, "window_strides", rank, 1, ones);
  const auto base = PerDimension(call, "base_dilation", rank, 1, ones);
  const auto dilation = PerDimension(call, "window_dilation", rank, 1, ones);
  for (const auto* values : {&window, &stride, &base, &dilation}) {
    if (!values->ok()) return values->status();
  }
  std::vector<WindowAxis> axes(rank);
  for (size_t k = 0; k < rank; ++k) {
    axes[k].input = (*x)[k];
    axes[k].window = (*window)[k];
    axes[k].stride = (*stride)[k];
    axes[k].base = (*base)[k];
    axes[k].dilation = (*dilation)[k];
    if (axes[k].window > (1 << 20))
      return BeyondLimit("extent of a window", axes[k].window, "2^20");
  }
  absl::Status status = SetPaddingPairs(call, "padding", &axes);
  if (!status.ok()) return status;
  for (WindowAxis& axis : axes) {
    status = SetOutputExtent(call, false, &axis);
    if (!status.ok()) return status;
    if (pool != Pool::kSum) status = EveryWindowHasAnElement(call, axis);
    if (!status.ok()) return status;
  }
  Pooling pooling(call, axes);
  return pooling.Finished(pooling.Pooled(
      pool, [&](IndexFunctionBuilder* builder, size_t k, ExprId output, ExprId element) {
        return PlaceInWindow(builder, axes[k], output, element);
      }));
}

void AddPoolings(size_t space, std::vector<NativeOperator>* operators) {
  const std::string dimensions = std::to_string(space) + "d";
  const auto add = [&](const std::string& name, const std::string& attributes,
                       const std::string& documentation,
                       std::function<absl::StatusOr<IndexFunction>(const NativeCall&)> build) {
    operators->push_back({name + dimensions, name + dimensions + "(x) {" + attributes + "}",
                          documentation + " Source: torch.nn.functional." + name + dimensions + ".",
                          1, 1, ParseAttributes(attributes), std::move(build)});
  };
  const std::string windows =
      "kernel_size: ints in [1, inf), stride: ints in [1, inf) = none, padding: ints in [0, inf) = "
      "0, ";
  add("max_pool",
      windows + "dilation: ints in [1, inf) = 1, ceil_mode = false, only return_indices = false",
      "Largest element of every window, of which padding is no part; among equal ones the first "
      "has the derivative.",
      [space](const NativeCall& call) { return MaxPool(call, space); });
  add("avg_pool",
      windows + "ceil_mode = false, count_include_pad = true" +
          (space > 1 ? ", divisor_override: int = none" : ""),
      "Mean of every window; padding counts as zeros if count_include_pad, else not at all; what "
      "ceil_mode adds beyond the padding never counts.",
      [space](const NativeCall& call) { return AveragePool(call, space); });
  add("adaptive_avg_pool", "output_size: ints in [1, inf)",
      "Mean of every one of output_size windows, which cover the dimension.",
      [space](const NativeCall& call) { return AdaptivePool(call, space, Pool::kSum); });
  add("adaptive_max_pool", "output_size: ints in [1, inf), only return_indices = false",
      "Largest element of every one of output_size windows, which cover the dimension; among equal "
      "ones the first has the derivative.",
      [space](const NativeCall& call) { return AdaptivePool(call, space, Pool::kMax); });
}

}  // namespace

void AddPoolingOperators(std::vector<NativeOperator>* operators) {
  for (size_t space = 1; space <= 3; ++space) AddPoolings(space, operators);
  struct Named {
    const char* name;
    Pool pool;
    const char* what;
  };
  for (const Named& named : {Named{"reduce_window_sum", Pool::kSum, "Sum of every window."},
                             Named{"reduce_window_max", Pool::kMax,
                                   "Largest element of every window; among equal ones the first "
                                   "has the derivative."},
                             Named{"reduce_window_min", Pool::kMin,
                                   "Smallest element of every window; among equal ones the first "
                                   "has the derivative."}}) {
    const std::string attributes =
        "window_dimensions: ints in [1, inf), window_strides: ints in [1, inf) = none, padding: "
        "ints or string = \"VALID\", base_dilation: ints in [1, inf) = none, window_dilation: ints "
        "in [1, "
        "inf) = none";
    const Pool pool = named.pool;
    operators->push_back(
        {named.name, std::string(named.name) + "(x) {" + attributes + "}",
         std::string(named.what) +
             " `padding`: pairs (before, after), one after another, \"SAME\" or \"VALID\"; padding "
             "is no part of a window. Source: jax.lax.reduce_window with the neutral element as "
             "initial value.",
         1, 1, ParseAttributes(attributes),
         [pool](const NativeCall& call) { return ReduceWindow(call, pool); }});
  }
}

}  // namespace planproof::sdfg
