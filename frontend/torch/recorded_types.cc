#include "frontend/torch/recorded_types.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/strided.h"
#include "sdfg/element_type.h"
#include "sdfg/types.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::DType;

// Kinds of numbers; a type of a later one holds what those before it are promoted to.
enum class NumberKind : uint8_t { kTruth, kInteger, kReal };

NumberKind NumberKindOf(DType dtype) {
  if (sdfg::IsFloating(dtype)) return NumberKind::kReal;
  return dtype == DType::kBool ? NumberKind::kTruth : NumberKind::kInteger;
}

// Of two types of one kind that is not real.
DType Wider(DType a, DType b) {
  if (a == b) return a;
  const bool unsigned_a = a == DType::kUInt8, unsigned_b = b == DType::kUInt8;
  if (sdfg::IntegerBits(a) == sdfg::IntegerBits(b) && unsigned_a != unsigned_b)
    return DType::kInt16;
  return sdfg::IntegerBits(a) < sdfg::IntegerBits(b) ? b : a;
}

// What tensors with dimensions, tensors without, and numbers come to together. A later group
// counts only by its kind, if that is beyond the ones before.
class Promotion {
 public:
  void Add(const Tensor& tensor) { Join(&groups_[tensor.shape.empty() ? 1 : 0], tensor.dtype); }
  void Add(const Value& value) {
    if (value.kind == Value::Kind::kBool) Join(&groups_[2], DType::kBool);
    if (value.kind == Value::Kind::kInteger) Join(&groups_[2], DType::kInt64);
    if (value.kind == Value::Kind::kReal || value.kind == Value::Kind::kInfinite) {
      Join(&groups_[2], DType::kFloat32);
    }
    // The number that left a tensor may be of any kind.
    open_ = open_ || value.kind == Value::Kind::kItem || value.kind == Value::Kind::kComputed;
  }
  // Nothing if it is not known. Real numbers are kFloat32.
  std::optional<DType> Result() const {
    if (open_) return std::nullopt;
    std::optional<DType> result;
    for (const std::optional<DType>& group : groups_) {
      if (group && (!result || NumberKindOf(*result) < NumberKindOf(*group))) result = group;
    }
    return result;
  }

 private:
  static void Join(std::optional<DType>* group, DType dtype) {
    if (NumberKindOf(dtype) == NumberKind::kReal) dtype = DType::kFloat32;
    if (!*group || NumberKindOf(**group) < NumberKindOf(dtype)) {
      *group = dtype;
    } else if (NumberKindOf(**group) == NumberKindOf(dtype) &&
               NumberKindOf(dtype) == NumberKind::kInteger) {
      *group = Wider(**group, dtype);
    }
  }

  std::optional<DType> groups_[3];
  bool open_ = false;
};

using NameSet = std::set<std::string, std::less<>>;

bool IsAmong(const NameSet& names, const std::string& base) {
  return base.starts_with("aten.") && names.count(std::string_view(base).substr(5)) != 0;
}

// The type as which PyTorch gives the result; real numbers are kFloat32. Nothing: no rule.
std::optional<DType> ExpectedType(const Trace& trace, const Executed& executed,
                                  const std::string& base) {
  static const auto* const as_self =
      new NameSet{"clone",       "alias_copy",    "detach_copy",
                  "neg",         "abs",           "relu",
                  "sign",        "sgn",           "flip",
                  "roll",        "tril",          "triu",
                  "repeat",      "sort",          "topk",
                  "index",       "gather",        "index_select",
                  "scatter",     "scatter_add",   "index_add",
                  "index_copy",  "index_put",     "_unsafe_index_put",
                  "masked_fill", "masked_select", "constant_pad_nd",
                  "amax",        "amin"};
  static const auto* const promoted =
      new NameSet{"add", "sub", "mul", "rsub", "maximum", "minimum", "remainder", "floor_divide"};
  static const auto* const truth =
      new NameSet{"lt",          "le",         "gt",          "ge",    "eq",   "ne",
                  "logical_and", "logical_or", "logical_not", "isnan", "isinf"};
  static const auto* const real = new NameSet{
      "sqrt",     "rsqrt",       "reciprocal", "exp",     "log",       "sin",
      "cos",      "erf",         "tanh",       "sigmoid", "silu",      "gelu",
      "expm1",    "log1p",       "softplus",   "mean",    "logsumexp", "linalg_vector_norm",
      "_softmax", "_log_softmax"};
  static const auto* const positions = new NameSet{"argmax", "argmin", "argsort", "nonzero"};
  if (IsAmong(*truth, base)) return DType::kBool;
  if (IsAmong(*positions, base)) return DType::kInt64;
  if (IsAmong(*real, base)) return DType::kFloat32;
  const auto named = executed.kwargs.find("dtype");
  const bool other = named != executed.kwargs.end() && named->second.kind != Value::Kind::kNone;
  if (other || executed.args.empty() || executed.args[0].kind == Value::Kind::kNone) {
    return std::nullopt;
  }
  Promotion promotion;
  const size_t count = IsAmong(*promoted, base) ? std::min<size_t>(2, executed.args.size()) : 1;
  for (size_t i = 0; i < count; ++i) {
    const Value& value = executed.args[i];
    if (value.kind == Value::Kind::kTensor) {
      promotion.Add(trace.tensors[value.tensor]);
    } else {
      promotion.Add(value);
    }
  }
  if (IsAmong(*promoted, base)) {
    if (executed.args.size() < 2) return std::nullopt;
    return promotion.Result();
  }
  if (IsAmong(*as_self, base)) return promotion.Result();
  if (base == "aten.sum" || base == "aten.cumsum") {
    const std::optional<DType> self = promotion.Result();
    if (!self) return std::nullopt;
    return NumberKindOf(*self) == NumberKind::kReal ? *self : DType::kInt64;
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckResultType(const Trace& trace, const Executed& executed, const std::string& base,
                             const std::string& place) {
  const std::optional<DType> expected = ExpectedType(trace, executed, base);
  if (!expected) return absl::OkStatus();
  const Tensor& tensor = trace.tensors[executed.out[0].tensor];
  if (ElementsOf(tensor.shape) == 0)
    return absl::OkStatus();  // PyTorch computes, and refuses, none
  const DType result = tensor.dtype;
  const bool in_place = !executed.writes.empty();
  const bool fits =
      in_place ? NumberKindOf(*expected) <= NumberKindOf(result) || IsAmong({"copy", "fill"}, base)
      : NumberKindOf(*expected) == NumberKind::kReal ? NumberKindOf(result) == NumberKind::kReal
                                                     : result == *expected;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      place, ": the trace says that the result is of ", sdfg::DTypeName(result),
      ", which PyTorch does not make of these operands (",
      NumberKindOf(*expected) == NumberKind::kReal ? "real numbers" : sdfg::DTypeName(*expected),
      "); record again"));
}

}  // namespace planproof::frontend::torch
