#include "sdfg/index_digits.h"

namespace planproof::sdfg {
namespace {

// (base / low) mod (high / low); high == 0: the quotient itself.
struct JoinedDigit {
  ExprId base = kNoExpr;
  int64_t low = 1;
  int64_t high = 0;
};

JoinedDigit AsDigit(const IndexFunctionBuilder& builder, ExprId id) {
  const Node& node = builder.node(id);
  if (node.op == Op::kIntDiv) return {node.args[0], node.value, 0};
  if (node.op != Op::kIntMod) return {id, 1, 0};
  const Node& inner = builder.node(node.args[0]);
  int64_t high = 0;
  if (inner.op == Op::kIntDiv && !__builtin_mul_overflow(inner.value, node.value, &high)) {
    return {inner.args[0], inner.value, high};
  }
  return {node.args[0], 1, node.value};
}

ExprId Emit(IndexFunctionBuilder* builder, const JoinedDigit& digit) {
  ExprId quotient = builder->IntDiv(digit.base, digit.low);
  return digit.high == 0 ? quotient : builder->IntMod(quotient, digit.high / digit.low);
}

}  // namespace

std::vector<ExprId> SplitDigits(IndexFunctionBuilder* builder, ExprId value,
                                const std::vector<int64_t>& sizes) {
  std::vector<ExprId> digits(sizes.size(), kNoExpr);
  int64_t stride = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    ExprId quotient = builder->IntDiv(value, stride);
    digits[k] = k == 0 ? quotient : builder->IntMod(quotient, sizes[k]);
    stride *= sizes[k];
  }
  return digits;
}

ExprId JoinDigits(IndexFunctionBuilder* builder, const std::vector<ExprId>& digits,
                  const std::vector<int64_t>& sizes) {
  if (digits.empty()) return builder->Int(0);
  struct Part {
    ExprId id;
    int64_t size;
  };
  std::vector<Part> parts;
  for (size_t k = 0; k < digits.size(); ++k) {
    if (sizes[k] == 1) continue;  // always 0
    Part part = {digits[k], sizes[k]};
    if (!parts.empty()) {
      JoinedDigit major = AsDigit(*builder, parts.back().id);
      JoinedDigit minor = AsDigit(*builder, part.id);
      int64_t product = 0;
      if (major.base == minor.base && minor.high != 0 && minor.high == major.low &&
          minor.high / minor.low == part.size &&
          !__builtin_mul_overflow(parts.back().size, part.size, &product)) {
        parts.back() = {Emit(builder, {major.base, minor.low, major.high}), product};
        continue;
      }
    }
    parts.push_back(part);
  }
  if (parts.empty()) return builder->Int(0);
  ExprId value = parts[0].id;
  for (size_t k = 1; k < parts.size(); ++k) {
    value = builder->IntAdd(builder->IntScale(parts[k].size, value), parts[k].id);
  }
  return value;
}

}  // namespace planproof::sdfg
