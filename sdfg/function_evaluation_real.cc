// Real-valued nodes: arithmetic, selection, reductions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sdfg/function_evaluation.h"

namespace planproof::sdfg {

using solver::Affine;
using solver::AtomKind;
using solver::BoundVariable;
using solver::Exponent;
using solver::Interval;
using solver::kZeroPoly;
using solver::PolyId;
using solver::PremiseKind;
using solver::Rational;
using solver::Symbol;

namespace {

constexpr size_t kMaxPieces = 4096;

bool ToExponent(const Rational& r, Exponent* out) {
  int64_t num, den;
  Rational n, d;
  Rational::Parse(r.Numerator(), &n);
  Rational::Parse(r.Denominator(), &d);
  if (!n.ToInt64(&num) || !d.ToInt64(&den) || std::abs(num) > 1000 || den > 1000) return false;
  *out = Exponent{static_cast<int32_t>(r.Sign() < 0 && num > 0 ? -num : num),
                  static_cast<int32_t>(den)};
  return true;
}

// Of the integer sort whatever its operands are (a choice has the sort of its branches).
bool IsIntegerNode(const Node& n) {
  switch (n.op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kIntAdd:
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kWhole:
    case Op::kIntElement:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A quotient, or a product. Minus infinity is legal times what is positive.
bool FunctionEvaluation::Product(const Node& n, MaskedValue* out) {
  MaskedValue x, y;
  if (!Real(n.args[0], &x) || !Real(n.args[1], &y)) return false;
  if (n.op == Op::kMul && x.masked == kZeroPoly) std::swap(x, y);
  if (y.masked != kZeroPoly ||
      (x.masked != kZeroPoly && arena_.SignOf(y.value) != solver::Sign::kPositive)) {
    e_.Fail(absl::StrCat("operator ", op_.name, ": -infinity times a value that is not positive"));
    return false;
  }
  out->value = n.op == Op::kMul ? arena_.Mul(x.value, y.value)
                                : arena_.Divide(x.value, Operand(PremiseKind::kNonZero, y.value));
  out->masked = x.masked;
  return true;
}

bool FunctionEvaluation::Power(const Node& n, PolyId* out) {
  Exponent e;
  if (!ToExponent(n.real, &e)) {
    e_.Fail(absl::StrCat("operator ", op_.name, ": exponent ", n.real.ToString(),
                         " is not a small rational"));
    return false;
  }
  PolyId a;
  if (!NotMasked(n.args[0], &a)) return false;
  if (!e.IsInteger() || e.num < 0) {
    a = Operand(e.IsInteger() ? PremiseKind::kNonZero
                : e.num < 0   ? PremiseKind::kPositive
                              : PremiseKind::kNonNegative,
                a);
  }
  *out = arena_.Power(a, e);
  return true;
}

// A function of one operand that is a number.
bool FunctionEvaluation::Function(const Node& n, PolyId* out) {
  PolyId a;
  if (!NotMasked(n.args[0], &a)) return false;
  switch (n.op) {
    case Op::kNeg:
      *out = arena_.Scale(a, Rational(-1));
      return true;
    case Op::kLog:
      *out = arena_.Log(Operand(PremiseKind::kPositive, a));
      return true;
    case Op::kErf:
      *out = arena_.Unary(AtomKind::kErf, a);
      return true;
    case Op::kSin:
      *out = arena_.Unary(AtomKind::kSin, a);
      return true;
    case Op::kCos:
      *out = arena_.Unary(AtomKind::kCos, a);
      return true;
    default:
      *out = arena_.Abs(a);
      return true;
  }
}

bool FunctionEvaluation::Maximum(const Node& n, MaskedValue* out) {
  MaskedValue x, y;
  if (!Real(n.args[0], &x) || !Real(n.args[1], &y)) return false;
  PolyId both = arena_.Max(x.value, y.value);
  if (x.masked != kZeroPoly || y.masked != kZeroPoly) {
    PolyId one = arena_.One();
    PolyId only_x = arena_.Mul(arena_.Sub(one, x.masked), y.masked);
    PolyId neither = arena_.Mul(arena_.Sub(one, x.masked), arena_.Sub(one, y.masked));
    both = arena_.Add(arena_.Mul(x.masked, y.value),
                      arena_.Add(arena_.Mul(only_x, x.value), arena_.Mul(neither, both)));
  }
  *out = {both, arena_.Mul(x.masked, y.masked)};
  return true;
}

bool FunctionEvaluation::Minimum(const Node& n, PolyId* out) {
  PolyId a, b;
  if (!NotMasked(n.args[0], &a) || !NotMasked(n.args[1], &b)) return false;
  *out = arena_.Scale(arena_.Max(arena_.Scale(a, Rational(-1)), arena_.Scale(b, Rational(-1))),
                      Rational(-1));
  return true;
}

bool FunctionEvaluation::Choice(const Node& n, MaskedValue* out) {
  PolyId c;
  if (!Condition(n.args[0], &c)) return false;
  if (c == arena_.One()) return Real(n.args[1], out);
  if (c == kZeroPoly) return Real(n.args[2], out);
  MaskedValue x, y;
  const PolyId not_c = arena_.Sub(arena_.One(), c);
  e_.guards_.push_back(c);
  bool ok = Real(n.args[1], &x);
  e_.guards_.back() = not_c;
  ok = ok && Real(n.args[2], &y);
  e_.guards_.pop_back();
  if (!ok) return false;
  // Where a side is -infinity its finite part does not matter.
  if (x.masked == arena_.One()) {
    out->value = y.value;
  } else if (y.masked == arena_.One()) {
    out->value = x.value;
  } else {
    out->value = arena_.Add(arena_.Mul(c, x.value), arena_.Mul(not_c, y.value));
  }
  out->masked = arena_.Add(arena_.Mul(c, x.masked), arena_.Mul(not_c, y.masked));
  return true;
}

// An integer expression as a real number.
bool FunctionEvaluation::OfInteger(ExprId id, PolyId* out) {
  Affine e;
  if (!Integer(id, &e)) return false;
  *out = arena_.Position(e);
  return true;
}

bool FunctionEvaluation::RealUncached(ExprId id, MaskedValue* out) {
  const Node& n = f_.nodes[id];
  out->masked = kZeroPoly;
  switch (n.op) {
    case Op::kReal:
      out->value = arena_.Constant(n.real);
      return true;
    case Op::kNegInf:
      *out = {kZeroPoly, arena_.One()};
      return true;
    case Op::kElement: {
      TensorRef tensor;
      Indices indices;
      if (!InputIndices(n, 0, &tensor, &indices)) return false;
      auto value = e_.Element(tensor, indices);
      if (!value) return false;
      *out = *value;
      return true;
    }
    case Op::kPosition:
      return OfInteger(n.args[0], &out->value);
    case Op::kIndicator:
      return Condition(n.args[0], &out->value);
    case Op::kAdd: {
      MaskedValue x, y;
      if (!Real(n.args[0], &x) || !Real(n.args[1], &y)) return false;
      out->value = arena_.Add(x.value, y.value);
      out->masked = arena_.Sub(arena_.Add(x.masked, y.masked), arena_.Mul(x.masked, y.masked));
      return true;
    }
    case Op::kMul:
    case Op::kDiv:
      return Product(n, out);
    case Op::kPow:
      return Power(n, &out->value);
    case Op::kExp: {
      MaskedValue x;
      if (!Real(n.args[0], &x)) return false;
      out->value = arena_.Mul(arena_.Sub(arena_.One(), x.masked), arena_.Exp(x.value));
      return true;
    }
    case Op::kNeg:
    case Op::kLog:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kAbs:
      return Function(n, &out->value);
    case Op::kMax:
      return Maximum(n, out);
    case Op::kMin:
      return Minimum(n, &out->value);
    case Op::kSelect:
      return Choice(n, out);
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
      return Reduce(n, out);
    case Op::kOpaque: {
      if (n.int_valued) return OfInteger(id, &out->value);
      solver::AtomId atom;
      if (!Opaque(n, &atom)) return false;
      out->value = arena_.OfAtom(atom);
      return true;
    }
    default:
      return IsIntegerNode(n) ? OfInteger(id, &out->value) : Condition(id, &out->value);
  }
}

// Evaluates the body over the box; on a split request for one of the box's symbols splits the box.
bool FunctionEvaluation::ReducePiece(const Node& node, const Box& box, const Affine& value,
                                     std::vector<std::pair<Box, MaskedValue>>* pieces) {
  std::vector<std::pair<Box, Affine>> work = {{box, value}};
  while (!work.empty()) {
    auto [current, index] = std::move(work.back());
    work.pop_back();
    if (work.size() + pieces->size() > kMaxPieces || arena_.exhausted()) {
      e_.Fail(absl::StrCat("operator ", op_.name, ": a reduction splits into too many pieces"));
      return false;
    }
    SetVar(node.var, index);
    const int saved_depth = e_.depth_, saved_guards = static_cast<int>(e_.guards_.size()),
              saved_expression_depth = depth_;
    const size_t saved_pinned = e_.pinned_.size();
    MaskedValue body;
    if (Real(node.args[0], &body)) {
      pieces->emplace_back(std::move(current), body);
      continue;
    }
    const SplitRequest request = e_.request_;
    auto mine = std::find_if(current.begin(), current.end(),
                             [&](const BoundVariable& v) { return v.symbol == request.symbol; });
    if (request.kind == SplitRequest::Kind::kNone || mine == current.end()) return false;
    e_.request_ = {};
    e_.error_.clear();
    e_.depth_ = saved_depth;
    e_.guards_.resize(saved_guards);
    depth_ = saved_expression_depth;
    e_.pinned_.resize(saved_pinned);
    const size_t at = static_cast<size_t>(mine - current.begin());
    const Interval d = current[at].domain;
    const Symbol old = current[at].symbol;
    const int64_t coefficient = index.Coefficient(old);
    for (SplitPart& part : e_.symbols_.Split(request, d)) {
      Box next = current;
      next.erase(next.begin() + at);
      next.insert(next.end(), part.variables.begin(), part.variables.end());
      work.emplace_back(std::move(next), index - Affine::Of(old, coefficient) +
                                             part.replacement.Scaled(coefficient));
    }
  }
  return true;
}

bool FunctionEvaluation::Reduce(const Node& n, MaskedValue* out) {
  const int64_t extent = f_.vars[n.var].extent;
  if (extent == 0) {
    if (n.op != Op::kSum) {
      *out = {kZeroPoly, arena_.One()};
      if (n.op == Op::kReduceMin) {
        e_.Fail(absl::StrCat("operator ", op_.name, ": minimum over nothing"));
        return false;
      }
      return true;
    }
    *out = {};
    return true;
  }
  std::vector<std::pair<Box, MaskedValue>> pieces;
  {
    const SymbolicEvaluator::Binding binding(&e_, {0, extent});
    const BoundVariable& v = binding.variable();
    if (!ReducePiece(n, {v}, Affine::Of(v.symbol), &pieces)) return false;
  }
  if (n.op == Op::kSum) {
    PolyId total = kZeroPoly;
    for (const auto& [box, value] : pieces) {
      if (value.masked != kZeroPoly) {
        e_.Fail(absl::StrCat("operator ", op_.name, ": -infinity under a sum"));
        return false;
      }
      total = arena_.Add(total, arena_.SumOver(box, value.value));
    }
    *out = {total, kZeroPoly};
    return true;
  }
  const bool minimum = n.op == Op::kReduceMin;
  // In a branch that is not taken nothing needs to be unmasked: there nothing counts as masked.
  const bool exact = e_.exact_branches_ && !e_.guards_.empty();
  if (exact) {
    for (auto& [box, value] : pieces) {
      if (value.masked != arena_.One()) value.masked = arena_.Mul(Reached(), value.masked);
    }
  }
  std::optional<PolyId> best;
  PolyId unmasked_count = kZeroPoly;
  bool partly_masked = false;
  for (const auto& [box, value] : pieces) {
    // Also where a whole piece is: what is -infinity is the least of all.
    if (minimum && value.masked != kZeroPoly) {
      e_.Fail(absl::StrCat("operator ", op_.name, ": -infinity under a minimum"));
      return false;
    }
    if (value.masked == arena_.One()) continue;
    PolyId m = arena_.ReduceMaxOver(
        box, minimum ? arena_.Scale(value.value, Rational(-1)) : value.value, value.masked);
    partly_masked |= value.masked != kZeroPoly;
    unmasked_count =
        arena_.Add(unmasked_count, arena_.SumOver(box, arena_.Sub(arena_.One(), value.masked)));
    best = best ? arena_.Max(*best, m) : m;
  }
  if (!best) {
    *out = {kZeroPoly, arena_.One()};
    return true;
  }
  if (partly_masked) {
    if (pieces.size() > 1) {
      // The pieces' maxima exist only where each has an unmasked entry.
      e_.Fail(absl::StrCat("operator ", op_.name, ": maximum over a row masked in several pieces"));
      return false;
    }
    if (!e_.guards_.empty() && !arena_.AlwaysHolds(PremiseKind::kNonZero, unmasked_count))
      e_.trails_.MeetInBranch();
    arena_.RecordPremise(PremiseKind::kNonZero, unmasked_count);
  }
  *out = {minimum ? arena_.Scale(*best, Rational(-1)) : *best, kZeroPoly};
  return true;
}

}  // namespace planproof::sdfg
