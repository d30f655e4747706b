#include "sdfg/native_operators_windows.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/index_range.h"
#include "sdfg/limit.h"

namespace planproof::sdfg {
namespace {

// Of strides, dilations, paddings and windows, so that nothing below overflows.
constexpr int64_t kMost = int64_t{1} << 28;

}  // namespace

absl::Status NotCovered(const NativeCall& call, const std::string& what) {
  return absl::UnimplementedError(absl::StrCat("operator ", call.name, ": ", what));
}

ExprId Both(IndexFunctionBuilder* builder, ExprId a, ExprId b) {
  if (a == kNoExpr) return b;
  return b == kNoExpr ? a : builder->Binary(Op::kAnd, a, b);
}

WindowPlace PlaceInWindow(IndexFunctionBuilder* builder, const WindowAxis& axis, ExprId output,
                          ExprId element) {
  const int64_t reach = axis.dilation * (axis.window - 1);
  const int64_t low = std::min<int64_t>(reach, 0) - axis.before;
  const int64_t high = axis.stride * (axis.output - 1) + std::max<int64_t>(reach, 0) - axis.before;
  ExprId place = builder->IntScale(axis.stride, output);
  place = builder->IntAdd(place, builder->IntScale(axis.dilation, element));
  place = builder->IntAdd(place, builder->Int(-axis.before));
  WindowPlace result;
  result.index = axis.base == 1 ? place : builder->IntDiv(place, axis.base);
  if (low < 0) {
    result.inside = builder->Binary(Op::kIntLessEq, builder->Int(0), result.index);
  }
  if (high >= axis.input * axis.base) {
    result.inside = Both(builder, result.inside,
                         builder->Binary(Op::kIntLess, result.index, builder->Int(axis.input)));
  }
  if (axis.base != 1) {
    const ExprId rest = builder->IntMod(place, axis.base);
    result.inside =
        Both(builder, result.inside, builder->Binary(Op::kIntEq, rest, builder->Int(0)));
  }
  return result;
}

absl::Status SetOutputExtent(const NativeCall& call, bool ceil, WindowAxis* axis) {
  if (axis->input > kMost) return BeyondLimit("extent under a window", axis->input, "2^28");
  if (axis->input < 1) return NotCovered(call, "windows over a dimension of extent 0");
  const int64_t input = (axis->input - 1) * axis->base + 1;
  const int64_t window = std::abs(axis->dilation) * (axis->window - 1) + 1;
  const int64_t padded = input + axis->before + axis->after;
  axis->output = FloorDiv(padded - window + (ceil ? axis->stride - 1 : 0), axis->stride) + 1;
  if (ceil && (axis->output - 1) * axis->stride >= input + axis->before) --axis->output;
  if (axis->output >= 1) return absl::OkStatus();
  return NotCovered(call, absl::StrCat("a window of ", window,
                                       " elements does not fit the padded input of ", padded));
}

absl::Status EveryWindowHasAnElement(const NativeCall& call, const WindowAxis& axis) {
  if (axis.output > (int64_t{1} << 20)) {
    return BeyondLimit(absl::StrCat("operator ", call.name, ": windows"), axis.output, "2^20");
  }
  for (int64_t o = 0; o < axis.output; ++o) {
    bool found = false;
    for (int64_t k = 0; k < axis.window && !found; ++k) {
      const int64_t place = axis.stride * o + axis.dilation * k - axis.before;
      found = place >= 0 && place % axis.base == 0 && place / axis.base < axis.input;
    }
    if (!found) return NotCovered(call, absl::StrCat("window ", o, " has padding only"));
    // Between the first windows and those at the end, all are alike.
    const int64_t first = axis.stride * o - axis.before;
    const int64_t reach = axis.dilation * (axis.window - 1);
    if (axis.base == 1 && first >= 0 && reach >= 0) {
      const int64_t last_inside = (axis.input - 1 + axis.before - reach) / axis.stride;
      o = std::max(o, std::min(last_inside, axis.output - 2));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> PerDimension(const NativeCall& call,
                                                  const std::string& attribute, size_t count,
                                                  int64_t least,
                                                  const std::vector<int64_t>& otherwise) {
  const AttributeValue& given = call.attributes.at(attribute);
  std::vector<int64_t> values;
  if (const auto* number = std::get_if<int64_t>(&given)) {
    values = {*number};
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&given)) {
    values = *list;
  } else if (!call.IsNone(attribute)) {
    return call.Error("attribute " + attribute + " is " + AttributeText(given) +
                      "; expected whole numbers");
  }
  if (call.IsNone(attribute) && !otherwise.empty()) return otherwise;
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count) {
    return call.Error(absl::StrCat("attribute ", attribute, " is ", ShapeText(values),
                                   "; expected a number or ", count, " of them"));
  }
  for (int64_t value : values) {
    if (value < least) {
      return call.Error(absl::StrCat("attribute ", attribute, " is ", ShapeText(values),
                                     "; expected at least ", least));
    }
    if (value > kMost) return BeyondLimit("attribute " + attribute, value, "2^28");
  }
  return values;
}

absl::Status SetPaddingPairs(const NativeCall& call, const std::string& attribute,
                             std::vector<WindowAxis>* axes) {
  const AttributeValue& given = call.attributes.at(attribute);
  const auto* word = std::get_if<std::string>(&given);
  if (word != nullptr && *word == "VALID") return absl::OkStatus();
  if (word != nullptr && *word == "SAME") {
    for (WindowAxis& axis : *axes) {
      if (axis.base != 1) return call.Error("padding \"SAME\" of a dilated input is not declared");
      const int64_t window = axis.dilation * (axis.window - 1) + 1;
      const int64_t windows = (axis.input + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>((windows - 1) * axis.stride + window - axis.input, 0);
      axis.before = total / 2;
      axis.after = total - total / 2;
    }
    return absl::OkStatus();
  }
  const auto* pairs = std::get_if<std::vector<int64_t>>(&given);
  if (pairs == nullptr || pairs->size() != 2 * axes->size()) {
    return call.Error(absl::StrCat("attribute ", attribute, " is ", AttributeText(given),
                                   "; expected ", axes->size(),
                                   " pairs (before, after), one after another, \"VALID\" or "
                                   "\"SAME\""));
  }
  for (size_t k = 0; k < axes->size(); ++k) {
    for (const int64_t value : {(*pairs)[2 * k], (*pairs)[2 * k + 1]}) {
      if (value > kMost || value < -kMost)
        return BeyondLimit("attribute " + attribute, value, "2^28");
    }
    (*axes)[k].before = (*pairs)[2 * k];
    (*axes)[k].after = (*pairs)[2 * k + 1];
  }
  return absl::OkStatus();
}

}  // namespace planproof::sdfg
