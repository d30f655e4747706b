#include "sdfg/index_algebra.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace planproof::sdfg {
namespace {

constexpr int kMaxJoins = 100;  // every join removes a term; a bound all the same

}  // namespace

VarSet UnionOf(const VarSet& a, const VarSet& b) {
  VarSet result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

VarSet Without(const VarSet& a, const VarSet& b) {
  VarSet result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

bool Contains(const VarSet& set, VarId var) {
  return std::binary_search(set.begin(), set.end(), var);
}

bool Intersects(const VarSet& a, const VarSet& b) {
  return std::any_of(a.begin(), a.end(), [&b](VarId var) { return Contains(b, var); });
}

VarId VariableBoundBy(const Node& node) {
  switch (node.op) {
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
    case Op::kOpaque:
      return node.var;
    default:
      return -1;
  }
}

void IndexAlgebra::Extend() {
  const std::vector<Node>& nodes = b_.function().nodes;
  while (free_.size() < nodes.size()) {
    const Node& node = nodes[free_.size()];
    const VarId bound = VariableBoundBy(node);
    VarSet free;
    if (node.op == Op::kIndex) free.push_back(node.var);
    for (size_t i = 0; i < node.args.size(); ++i) {
      const VarSet& arg = free_[node.args[i]];
      // Only the first argument is in the scope of the bound variable.
      free = UnionOf(free, i == 0 && bound >= 0 ? Without(arg, {bound}) : arg);
    }
    std::optional<IndexRange> range;
    if (!IntRangeOf(node, b_.function().vars, ranges_, &range)) overflowed_ = true;
    free_.push_back(std::move(free));
    ranges_.push_back(range);
  }
}

const VarSet& IndexAlgebra::Free(ExprId id) {
  Extend();
  return free_[id];
}

std::optional<IndexRange> IndexAlgebra::Range(ExprId id) {
  Extend();
  return ranges_[id];
}

int64_t IndexAlgebra::Multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflowed_ = true;
  return result;
}

int64_t IndexAlgebra::Plus(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflowed_ = true;
  return result;
}

void IndexAlgebra::AddTerm(AffineIndex* form, ExprId atom, int64_t coefficient) {
  for (size_t i = 0; i < form->terms.size(); ++i) {
    if (form->terms[i].first != atom) continue;
    form->terms[i].second = Plus(form->terms[i].second, coefficient);
    if (form->terms[i].second == 0) form->terms.erase(form->terms.begin() + i);
    return;
  }
  if (coefficient != 0) form->terms.push_back({atom, coefficient});
}

AffineIndex IndexAlgebra::ToAffine(ExprId id) {
  AffineIndex form;
  std::vector<std::pair<ExprId, int64_t>> stack = {{id, 1}};
  while (!stack.empty()) {
    const auto [at, coefficient] = stack.back();
    stack.pop_back();
    const Node& node = b_.node(at);
    if (node.op == Op::kIntConst) {
      form.constant = Plus(form.constant, Multiply(coefficient, node.value));
    } else if (node.op == Op::kIntScale) {
      stack.push_back({node.args[0], Multiply(coefficient, node.value)});
    } else if (node.op == Op::kIntAdd) {
      stack.push_back({node.args[1], coefficient});
      stack.push_back({node.args[0], coefficient});
    } else {
      AddTerm(&form, at, coefficient);
    }
  }
  return form;
}

AffineIndex IndexAlgebra::Sum(const AffineIndex& a, const AffineIndex& b, int64_t scale) {
  AffineIndex result = a;
  result.constant = Plus(result.constant, Multiply(scale, b.constant));
  for (const auto& [atom, coefficient] : b.terms) {
    AddTerm(&result, atom, Multiply(scale, coefficient));
  }
  return result;
}

bool IndexAlgebra::JoinDigits(AffineIndex* form) {
  for (size_t i = 0; i < form->terms.size(); ++i) {
    const Digit fine = AsDigit(form->terms[i].first);
    if (fine.size == 0) continue;
    for (size_t k = 0; k < form->terms.size(); ++k) {
      const Digit coarse = AsDigit(form->terms[k].first);
      if (k == i || coarse.base != fine.base) continue;
      if (coarse.low != Multiply(fine.low, fine.size)) continue;
      const int64_t coefficient = form->terms[i].second;
      if (form->terms[k].second != Multiply(coefficient, fine.size)) continue;
      const int64_t size = coarse.size == 0 ? 0 : Multiply(fine.size, coarse.size);
      const ExprId joined = FromDigit({fine.base, fine.low, size});
      form->terms.erase(form->terms.begin() + std::max(i, k));
      form->terms.erase(form->terms.begin() + std::min(i, k));
      *form = Sum(*form, ToAffine(joined), coefficient);
      return true;
    }
  }
  return false;
}

ExprId IndexAlgebra::FromAffine(AffineIndex form) {
  for (int joins = 0; joins < kMaxJoins && !overflowed_ && JoinDigits(&form); ++joins) {
  }
  std::sort(form.terms.begin(), form.terms.end());
  ExprId result = kNoExpr;
  for (const auto& [atom, coefficient] : form.terms) {
    const ExprId term = b_.IntScale(coefficient, atom);
    result = result == kNoExpr ? term : b_.IntAdd(result, term);
  }
  if (result == kNoExpr) return b_.Int(form.constant);
  return b_.IntAdd(result, b_.Int(form.constant));
}

std::optional<IndexRange> IndexAlgebra::Range(const AffineIndex& form) {
  IndexRange range{form.constant, form.constant};
  for (const auto& [atom, coefficient] : form.terms) {
    const std::optional<IndexRange> term = Range(atom);
    if (!term) return std::nullopt;
    const int64_t a = Multiply(coefficient, term->low);
    const int64_t b = Multiply(coefficient, term->high);
    range.low = Plus(range.low, std::min(a, b));
    range.high = Plus(range.high, std::max(a, b));
  }
  if (overflowed_) return std::nullopt;
  return range;
}

ExprId IndexAlgebra::Add(ExprId a, ExprId b) {
  return FromAffine(Sum(ToAffine(a), ToAffine(b), 1));
}

ExprId IndexAlgebra::Subtract(ExprId a, ExprId b) {
  return FromAffine(Sum(ToAffine(a), ToAffine(b), -1));
}

ExprId IndexAlgebra::Scale(int64_t factor, ExprId a) {
  return FromAffine(Sum(AffineIndex(), ToAffine(a), factor));
}

void IndexAlgebra::Divide(const AffineIndex& form, int64_t divisor, AffineIndex* quotient,
                          AffineIndex* rest) {
  quotient->constant = FloorDiv(form.constant, divisor);
  rest->constant = form.constant - divisor * quotient->constant;
  for (const auto& [atom, coefficient] : form.terms) {
    // Only whole multiples leave the rest: taking 5 = 4 + 1 apart would double the terms.
    if (coefficient % divisor == 0) {
      quotient->terms.push_back({atom, coefficient / divisor});
    } else {
      rest->terms.push_back({atom, coefficient});
    }
  }
}

bool IndexAlgebra::SplitFine(const AffineIndex& rest, int64_t divisor, int64_t* unit,
                             AffineIndex* coarse, AffineIndex* fine) {
  // Candidates: the terms with coefficients below some bound are the fine part.
  for (const auto& [pivot_atom, pivot] : rest.terms) {
    int64_t common = divisor;
    for (const auto& [atom, coefficient] : rest.terms) {
      if (std::abs(coefficient) >= std::abs(pivot)) common = std::gcd(common, coefficient);
    }
    if (common <= 1) continue;
    AffineIndex low;
    AffineIndex high;
    high.constant = FloorDiv(rest.constant, common);
    low.constant = rest.constant - common * high.constant;
    for (const auto& [atom, coefficient] : rest.terms) {
      if (coefficient % common == 0) {
        high.terms.push_back({atom, coefficient / common});
      } else {
        low.terms.push_back({atom, coefficient});
      }
    }
    const std::optional<IndexRange> range = Range(low);
    if (!range || range->low < 0 || range->high >= common) continue;
    *unit = common;
    *coarse = std::move(high);
    *fine = std::move(low);
    return true;
  }
  return false;
}

ExprId IndexAlgebra::Div(ExprId a, int64_t divisor) {
  if (divisor == 1) return a;
  AffineIndex quotient;
  AffineIndex rest;
  Divide(ToAffine(a), divisor, &quotient, &rest);
  const std::optional<IndexRange> range = Range(rest);
  if (range && FloorDiv(range->low, divisor) == FloorDiv(range->high, divisor)) {
    quotient.constant = Plus(quotient.constant, FloorDiv(range->low, divisor));
    return FromAffine(std::move(quotient));
  }
  int64_t unit = 1;
  AffineIndex coarse;
  AffineIndex fine;
  ExprId remaining = kNoExpr;
  if (SplitFine(rest, divisor, &unit, &coarse, &fine)) {
    remaining = Div(FromAffine(std::move(coarse)), divisor / unit);
  } else {
    const ExprId value = FromAffine(std::move(rest));
    const Digit digit = AsDigit(value);
    int64_t low = 0;
    if (digit.size != 0 && digit.size % divisor == 0) {
      remaining = FromDigit({digit.base, Multiply(digit.low, divisor), digit.size / divisor});
    } else if (digit.size == 0 && digit.low > 1 &&
               !__builtin_mul_overflow(digit.low, divisor, &low)) {
      remaining = Div(digit.base, low);
    } else {
      remaining = b_.IntDiv(value, divisor);
    }
  }
  if (quotient.terms.empty() && quotient.constant == 0) return remaining;
  return Add(FromAffine(std::move(quotient)), remaining);
}

ExprId IndexAlgebra::Mod(ExprId a, int64_t divisor) {
  if (divisor == 1) return b_.Int(0);
  AffineIndex quotient;
  AffineIndex rest;
  Divide(ToAffine(a), divisor, &quotient, &rest);
  const std::optional<IndexRange> range = Range(rest);
  if (range && FloorDiv(range->low, divisor) == FloorDiv(range->high, divisor)) {
    rest.constant = Plus(rest.constant, -divisor * FloorDiv(range->low, divisor));
    return FromAffine(std::move(rest));
  }
  int64_t unit = 1;
  AffineIndex coarse;
  AffineIndex fine;
  if (SplitFine(rest, divisor, &unit, &coarse, &fine)) {
    const ExprId high = Mod(FromAffine(std::move(coarse)), divisor / unit);
    return FromAffine(Sum(fine, ToAffine(high), unit));
  }
  const ExprId value = FromAffine(std::move(rest));
  const Digit digit = AsDigit(value);
  if (digit.size != 0 && digit.size % divisor == 0) {
    return FromDigit({digit.base, digit.low, divisor});
  }
  return b_.IntMod(value, divisor);
}

Digit IndexAlgebra::AsDigit(ExprId id) {
  const Node& node = b_.node(id);
  if (node.op == Op::kIntDiv) return {node.args[0], node.value, 0};
  if (node.op != Op::kIntMod) return {id, 1, 0};
  const Node& inner = b_.node(node.args[0]);
  if (inner.op == Op::kIntDiv) return {inner.args[0], inner.value, node.value};
  return {node.args[0], 1, node.value};
}

ExprId IndexAlgebra::FromDigit(const Digit& digit) {
  const ExprId quotient = Div(digit.base, digit.low);
  return digit.size == 0 ? quotient : Mod(quotient, digit.size);
}

std::optional<bool> IndexAlgebra::Decide(ExprId condition) {
  const Node& node = b_.node(condition);
  const Op op = node.op;
  if (op != Op::kIntLess && op != Op::kIntLessEq && op != Op::kIntEq) return std::nullopt;
  // Sign of args[1] - args[0].
  const std::optional<IndexRange> range =
      Range(Sum(ToAffine(node.args[1]), ToAffine(node.args[0]), -1));
  if (!range) return std::nullopt;
  if (op == Op::kIntEq) {
    if (range->low == 0 && range->high == 0) return true;
    if (range->low > 0 || range->high < 0) return false;
    return std::nullopt;
  }
  const int64_t least = op == Op::kIntLess ? 1 : 0;
  if (range->low >= least) return true;
  if (range->high < least) return false;
  return std::nullopt;
}

}  // namespace planproof::sdfg
