// Implements what convolutions and poolings have in common: windows that slide over dimensions.
#ifndef PLANPROOF_SDFG_NATIVE_OPERATORS_WINDOWS_H_
#define PLANPROOF_SDFG_NATIVE_OPERATORS_WINDOWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {

// One dimension. Element k of window o is at stride * o + dilation * k - before, where the elements
// of the input lie at multiples of `base`.
struct WindowAxis {
  int64_t input = 0;  // extents
  int64_t window = 1;
  int64_t output = 1;
  int64_t stride = 1;
  int64_t dilation = 1;  // negative: the window is read backwards
  int64_t before = 0;    // padding; negative: cropped
  int64_t after = 0;
  int64_t base = 1;
};

// The place of an element in the input.
struct WindowPlace {
  ExprId index = kNoExpr;
  ExprId inside = kNoExpr;  // when it is there; kNoExpr: always
};
WindowPlace PlaceInWindow(IndexFunctionBuilder* builder, const WindowAxis& axis, ExprId output,
                          ExprId element);

// Sets `output` to the number of windows that fit; with `ceil` as PyTorch's ceil_mode has it: one
// more that leaves the padded input but begins within the input or the padding before it.
absl::Status SetOutputExtent(const NativeCall& call, bool ceil, WindowAxis* axis);

// An error for windows that lie in the padding as a whole.
absl::Status EveryWindowHasAnElement(const NativeCall& call, const WindowAxis& axis);

// The attribute's numbers, one for each of `count` dimensions; a single number counts for all, none
// for `otherwise`. Errors: another count, a number below `least`.
absl::StatusOr<std::vector<int64_t>> PerDimension(const NativeCall& call,
                                                  const std::string& attribute, size_t count,
                                                  int64_t least,
                                                  const std::vector<int64_t>& otherwise);

// Padding as JAX has it: pairs (before, after), one after another, "VALID" or "SAME".
absl::Status SetPaddingPairs(const NativeCall& call, const std::string& attribute,
                             std::vector<WindowAxis>* axes);

// Both conditions; kNoExpr stands for what always holds.
ExprId Both(IndexFunctionBuilder* builder, ExprId a, ExprId b);

// UNKNOWN: the operator has a meaning that is not declared here.
absl::Status NotCovered(const NativeCall& call, const std::string& what);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_NATIVE_OPERATORS_WINDOWS_H_
