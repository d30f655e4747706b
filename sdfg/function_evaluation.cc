#include "sdfg/function_evaluation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sdfg/linear_bounds.h"

namespace planproof::sdfg {

using solver::Affine;
using solver::BoundVariable;
using solver::IntRange;
using solver::KindOf;
using solver::kZeroPoly;
using solver::PolyId;
using solver::Rational;
using solver::SymbolKind;

namespace {

constexpr int kMaxExpressionDepth = 1000;
// No function of a declaration has such a name.
constexpr char kElementOrInfinity[] = "-infinity?";
constexpr char kOfInfinity[] = "-infinity:";

}  // namespace

FunctionEvaluation::FunctionEvaluation(SymbolicEvaluator* evaluator, int32_t graph,
                                       const Operator& op, Coordinates coordinates)
    : e_(*evaluator),
      arena_(evaluator->arena_),
      graph_(graph),
      op_(op),
      f_(*op.function),
      coordinates_(std::move(coordinates)),
      dependencies_(evaluator->Dependencies(f_)) {
  if (e_.scratch_.empty()) e_.scratch_.push_back(std::make_unique<EvaluationScratch>());
  scratch_ = std::move(e_.scratch_.back());
  e_.scratch_.pop_back();
  if (scratch_->vars.size() < f_.vars.size()) scratch_->vars.resize(f_.vars.size());
  scratch_->bound.assign(f_.vars.size(), false);
  scratch_->epoch.fill(0);
  if (scratch_->nodes.size() < f_.nodes.size()) scratch_->nodes.resize(f_.nodes.size());
  for (size_t i = 0; i < f_.nodes.size(); ++i) scratch_->nodes[i].valid = false;
}

FunctionEvaluation::~FunctionEvaluation() { e_.scratch_.push_back(std::move(scratch_)); }

void FunctionEvaluation::SetVar(VarId var, const Affine& value) {
  scratch_->vars[var] = value;
  scratch_->bound[var] = true;
  scratch_->epoch[std::min(var, 63)] = ++clock_;
}

bool FunctionEvaluation::Bind(int output, const Indices& local) {
  const FunctionOutput& out = f_.outputs[output];
  if (out.dims.size() != local.size()) {
    e_.Fail(absl::StrCat("operator ", op_.name, ": rank of output and index differ"));
    return false;
  }
  for (size_t d = 0; d < out.dims.size(); ++d) SetVar(out.dims[d], local[d]);
  return true;
}

std::optional<MaskedValue> FunctionEvaluation::Output(int output, const Indices& local) {
  MaskedValue value;
  if (!Bind(output, local) || !Real(f_.outputs[output].body, &value)) return std::nullopt;
  return value;
}

std::optional<Affine> FunctionEvaluation::IntegerOutput(int output, const Indices& local) {
  Affine value;
  if (!Bind(output, local) || !Integer(f_.outputs[output].body, &value)) return std::nullopt;
  return value;
}

bool FunctionEvaluation::Premise(int premise, const Indices& local, PolyId* holds) {
  const FunctionPremise& p = f_.premises[premise];
  return Bind(p.output, local) && Condition(p.condition, holds);
}

PolyId FunctionEvaluation::Reached() {
  PolyId reached = arena_.One();
  for (PolyId guard : e_.guards_) reached = arena_.Mul(reached, guard);
  return reached;
}

PolyId FunctionEvaluation::Operand(solver::PremiseKind premise, PolyId value) {
  if (e_.guards_.empty() || arena_.AlwaysHolds(premise, value)) return value;
  e_.trails_.MeetInBranch();
  if (!e_.exact_branches_) return value;
  return arena_.Add(arena_.One(), arena_.Mul(Reached(), arena_.Sub(value, arena_.One())));
}

// Whether the enclosing selections exclude every index outside [0, extent).
bool FunctionEvaluation::GuardedInRange(const Affine& index, int64_t extent) {
  for (const Affine& inside : {index, Affine(extent - 1) - index}) {
    if (IsNonNegativeWhere(arena_, e_.guards_, inside)) continue;
    PolyId reached = arena_.Indicator(-inside - Affine(1));
    for (PolyId guard : e_.guards_) reached = arena_.Mul(reached, guard);
    if (reached != kZeroPoly) return false;
  }
  return !arena_.exhausted();
}

bool FunctionEvaluation::InputIndices(const Node& node, size_t first, TensorRef* tensor,
                                      Indices* out) {
  tensor->graph = graph_;
  tensor->tensor = op_.inputs[node.input];
  if (op_.lifted) {
    const Tensor& t = e_.graphs_[graph_]->tensors[tensor->tensor];
    for (AxisId axis : t.axes) {
      auto it = std::find_if(coordinates_.begin(), coordinates_.end(),
                             [&](const auto& c) { return c.first == axis; });
      if (it == coordinates_.end()) {
        e_.Fail(
            absl::StrCat("operator ", op_.name, ": input varies over an axis its output lacks"));
        return false;
      }
      out->push_back(it->second);
    }
  }
  const Shape& shape = f_.inputs[node.input].shape;
  for (size_t i = first; i < node.args.size(); ++i) {
    Affine index;
    if (!Integer(node.args[i], &index)) return false;
    IntRange r = arena_.RangeOf(index);
    // A multiple is read where its reader was seen to read, and reads its operand there.
    const bool inside = (r.IsBounded() && r.low >= 0 && r.high < shape[i - first]) ||
                        op_.kind == OperatorKind::kMultiple;
    if (!inside && !GuardedInRange(index, shape[i - first])) {
      e_.Fail(absl::StrCat("operator ", op_.name, " may read input ", f_.inputs[node.input].name,
                           " out of range in dimension ", i - first,
                           "; where the index is data, declare its range as a premise"));
      return false;
    }
    out->push_back(std::move(index));
  }
  return true;
}

bool FunctionEvaluation::Integer(ExprId id, Affine* out) {
  const Node& n = f_.nodes[id];
  switch (n.op) {
    case Op::kIntConst:
      *out = Affine(n.value);
      return true;
    case Op::kIndex:
      if (!scratch_->bound[n.var]) {
        e_.Fail(absl::StrCat("operator ", op_.name, ": unbound index variable"));
        return false;
      }
      *out = scratch_->vars[n.var];
      return true;
    case Op::kIntAdd: {
      Affine a, b;
      if (!Integer(n.args[0], &a) || !Integer(n.args[1], &b)) return false;
      *out = a + b;
      return true;
    }
    case Op::kIntScale: {
      Affine a;
      if (!Integer(n.args[0], &a)) return false;
      *out = a.Scaled(n.value);
      return true;
    }
    case Op::kIntDiv:
    case Op::kIntMod: {
      Affine a, q, r;
      if (!Integer(n.args[0], &a) || !e_.DivMod(a, n.value, &q, &r)) return false;
      *out = n.op == Op::kIntDiv ? q : r;
      return true;
    }
    case Op::kIntElement: {
      TensorRef tensor;
      Indices indices;
      if (!InputIndices(n, 0, &tensor, &indices)) return false;
      auto value = e_.IntegerElement(tensor, indices);
      if (!value) return false;
      *out = *value;
      return true;
    }
    case Op::kWhole: {
      PolyId value;
      if (!NotMasked(n.args[0], &value)) return false;
      *out = arena_.WholeNumber(value);
      return true;
    }
    case Op::kSelect: {
      PolyId c;
      if (!Condition(n.args[0], &c)) return false;
      if (c == arena_.One()) return Integer(n.args[1], out);
      if (c == kZeroPoly) return Integer(n.args[2], out);
      MaskedValue value;
      if (!RealUncached(id, &value)) return false;
      *out = arena_.WholeNumber(value.value);
      return true;
    }
    case Op::kOpaque: {
      solver::AtomId atom;
      if (!Opaque(n, &atom)) return false;
      // The choice of the best entries of a row is a position in the row.
      IntRange range;
      if (n.var >= 0 && n.name.rfind("topk_index", 0) == 0) range = {0, f_.vars[n.var].extent - 1};
      *out = Affine::Of(arena_.IntAtom(atom, range));
      return true;
    }
    default:
      e_.Fail(absl::StrCat("operator ", op_.name, ": not an integer expression"));
      return false;
  }
}

bool FunctionEvaluation::DeltaOf(const Affine& e, PolyId* out) {
  // e = s u + v with v in (-s, s): zero iff both are.
  for (const auto& [sym, c] : e.terms) {
    const int64_t s = std::abs(c);
    if (s <= 1) continue;
    Affine u, v(0);
    bool exact = true;
    for (const auto& [t, d] : e.terms) {
      if (std::abs(d) >= s) {
        if (d % s != 0) exact = false;
        u = u + Affine::Of(t, d / s);
      } else {
        v = v + Affine::Of(t, d);
      }
    }
    if (!exact) continue;
    const int64_t whole = solver::FloorDiv(e.constant, s);
    for (int64_t k : {whole, whole + 1}) {
      Affine low = v + Affine(e.constant - k * s);
      IntRange r = arena_.RangeOf(low);
      if (r.low > -s && r.high < s) {
        if (low.terms.empty() && low.constant == 0 && v.terms.empty()) continue;
        PolyId a, b;
        if (!Compare(u + Affine(k), true, &a) || !Compare(low, true, &b)) return false;
        *out = arena_.Mul(a, b);
        return true;
      }
    }
    // A single long variable against a number in digits: ask for its digit.
    for (const auto& [t, d] : v.terms) {
      if (std::abs(d) == 1 && KindOf(t) == SymbolKind::kFree && !e_.IsPinned(t)) {
        IntRange r = arena_.RangeOf(t);
        if (r.high - r.low >= s) {
          e_.RequestDigit(t, s);
          return false;
        }
      }
    }
  }
  *out = arena_.Delta(e);
  return true;
}

// [difference >= 0], or [difference == 0].
bool FunctionEvaluation::Compare(const Affine& difference, bool equality, PolyId* out) {
  if (difference.overflow) {
    e_.Fail("index arithmetic exceeds its limits");
    return false;
  }
  const Affine d = equality ? difference : arena_.WithoutLowDigits(difference);
  PolyId direct = equality ? arena_.Delta(d) : arena_.Indicator(d);
  Rational constant;
  if (arena_.IsConstant(direct, &constant)) {
    *out = direct;
    return true;
  }
  if (d.terms.size() == 1 && KindOf(d.terms[0].first) == SymbolKind::kFree &&
      !e_.IsPinned(d.terms[0].first)) {
    const auto [s, c] = d.terms[0];
    IntRange r = arena_.RangeOf(s);
    if (equality) {
      // c s + k = 0 at one point (Delta has checked divisibility).
      const int64_t at = -d.constant / c;
      e_.RequestCut(s, at > r.low ? at : at + 1);
    } else {
      e_.RequestCut(s,
                    c > 0 ? solver::CeilDiv(-d.constant, c) : solver::FloorDiv(d.constant, -c) + 1);
    }
    return false;
  }
  if (equality) return DeltaOf(d, out);
  *out = direct;
  return true;
}

bool FunctionEvaluation::NotMasked(ExprId id, PolyId* out) {
  MaskedValue v;
  if (!Real(id, &v)) return false;
  if (v.masked != kZeroPoly) {
    e_.Fail(absl::StrCat("operator ", op_.name, ": -infinity outside max and exp"));
    return false;
  }
  *out = v.value;
  return true;
}

// Whether the expression is a number whatever its operands are, and not by a premise.
bool FunctionEvaluation::IsNumber(ExprId id) {
  std::vector<ExprId> work = {id};
  while (!work.empty()) {
    const Node& n = f_.nodes[work.back()];
    work.pop_back();
    if (n.op == Op::kNegInf) return false;
    if (n.op == Op::kElement && e_.policy_.MayBeInfinite({graph_, op_.inputs[n.input]}))
      return false;
    work.insert(work.end(), n.args.begin(), n.args.end());
  }
  return true;
}

// The operands of a comparison. -infinity is compared where it stands beside a number, or beside
// itself: not with what is -infinity at some places, and not with what a premise, that a row is not
// masked as a whole, takes for a number.
bool FunctionEvaluation::Comparable(ExprId a, ExprId b, MaskedValue* of_a, MaskedValue* of_b) {
  if (!Real(a, of_a) || !Real(b, of_b)) return false;
  const PolyId one = arena_.One();
  if (of_a->masked == kZeroPoly && of_b->masked == kZeroPoly) return true;
  const bool holds = (of_a->masked == one && (of_b->masked == one || IsNumber(b))) ||
                     (of_b->masked == one && IsNumber(a));
  if (!holds) e_.Fail(absl::StrCat("operator ", op_.name, ": -infinity outside max and exp"));
  return holds;
}

// [a < b]: minus infinity is less than every number, and not less than itself.
PolyId FunctionEvaluation::Less(const MaskedValue& a, const MaskedValue& b) {
  if (b.masked != kZeroPoly) return kZeroPoly;
  if (a.masked != kZeroPoly) return arena_.One();
  return arena_.RealPositive(arena_.Sub(b.value, a.value));
}

// A condition that matters only where another one holds.
bool FunctionEvaluation::ConditionWhere(PolyId guard, ExprId id, PolyId* out) {
  e_.guards_.push_back(guard);
  const bool ok = Condition(id, out);
  e_.guards_.pop_back();
  return ok;
}

bool FunctionEvaluation::Condition(ExprId id, PolyId* out) {
  const Node& n = f_.nodes[id];
  switch (n.op) {
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq: {
      Affine a, b;
      if (!Integer(n.args[0], &a) || !Integer(n.args[1], &b)) return false;
      Affine d = b - a;
      if (n.op == Op::kIntLess) d = d - Affine(1);
      return Compare(d, n.op == Op::kIntEq, out);
    }
    case Op::kRealLess:
    case Op::kRealLessEq:
    case Op::kRealEq: {
      MaskedValue a, b;
      if (!Comparable(n.args[0], n.args[1], &a, &b)) return false;
      if (n.op == Op::kRealLess) {
        *out = Less(a, b);
      } else if (n.op == Op::kRealLessEq) {
        *out = arena_.Sub(arena_.One(), Less(b, a));
      } else {
        *out = a.masked != b.masked    ? kZeroPoly
               : a.masked != kZeroPoly ? arena_.One()
                                       : arena_.RealZero(arena_.Sub(a.value, b.value));
      }
      return true;
    }
    case Op::kNonzero: {
      const Op arg = f_.nodes[n.args[0]].op;
      const bool integer = arg == Op::kIntConst || arg == Op::kIndex || arg == Op::kIntAdd ||
                           arg == Op::kIntScale || arg == Op::kIntDiv || arg == Op::kIntMod ||
                           arg == Op::kWhole || arg == Op::kIntElement ||
                           (arg == Op::kOpaque && f_.nodes[n.args[0]].int_valued);
      PolyId zero;
      if (integer) {
        Affine a;
        if (!Integer(n.args[0], &a) || !Compare(a, true, &zero)) return false;
      } else {
        PolyId a;
        if (!NotMasked(n.args[0], &a)) return false;
        zero = arena_.RealZero(a);
      }
      *out = arena_.Sub(arena_.One(), zero);
      return true;
    }
    case Op::kAnd: {
      PolyId a, b;
      if (!Condition(n.args[0], &a)) return false;
      if (a == kZeroPoly) {
        *out = kZeroPoly;
        return true;
      }
      if (!ConditionWhere(a, n.args[1], &b)) return false;
      *out = arena_.Mul(a, b);
      return true;
    }
    case Op::kOr: {
      PolyId a, b;
      if (!Condition(n.args[0], &a)) return false;
      if (a == arena_.One()) {
        *out = a;
        return true;
      }
      if (!ConditionWhere(arena_.Sub(arena_.One(), a), n.args[1], &b)) return false;
      *out = arena_.Sub(arena_.Add(a, b), arena_.Mul(a, b));
      return true;
    }
    case Op::kNot: {
      PolyId a;
      if (!Condition(n.args[0], &a)) return false;
      *out = arena_.Sub(arena_.One(), a);
      return true;
    }
    default:
      e_.Fail(absl::StrCat("operator ", op_.name, ": not a condition"));
      return false;
  }
}

bool FunctionEvaluation::Real(ExprId id, MaskedValue* out) {
  uint64_t stamp = 0;
  for (uint64_t bits = dependencies_[id], v = 0; bits != 0; bits >>= 1, ++v) {
    if (bits & 1) stamp = std::max(stamp, scratch_->epoch[v]);
  }
  const EvaluationScratch::Node& c = scratch_->nodes[id];
  if (c.valid && c.stamp == stamp && c.guards == e_.guards_) {
    *out = c.value;
    return true;
  }
  if (++depth_ > kMaxExpressionDepth || arena_.exhausted()) {
    e_.Fail("the terms of this claim exceed the work limit");
    return false;
  }
  const bool ok = RealUncached(id, out);
  --depth_;
  if (ok) scratch_->nodes[id] = {stamp, true, *out, e_.guards_};
  return ok;
}

bool FunctionEvaluation::Opaque(const Node& n, solver::AtomId* atom) {
  std::vector<Affine> indices;
  std::vector<PolyId> polys;
  size_t first = 0;
  std::string name = n.name;  // with the sorts of its operands, which the atom keeps apart
  BoundVariable row;
  PolyId body = kZeroPoly;
  if (n.var >= 0) {
    const int64_t extent = f_.vars[n.var].extent;
    const SymbolicEvaluator::Binding binding(&e_, {0, extent});
    row = binding.variable();
    e_.pinned_.push_back(row.symbol);
    SetVar(n.var, Affine::Of(row.symbol));
    MaskedValue element;
    const bool ok = Real(n.args[0], &element);
    e_.pinned_.pop_back();
    if (!ok) return false;
    body = element.value;
    if (element.masked != kZeroPoly) {
      // A row some of whose elements are -infinity is determined by which, and by the others.
      const PolyId finite = arena_.Sub(arena_.One(), element.masked);
      body = arena_.Opaque(arena_.OpaqueTag(kElementOrInfinity), {},
                           {arena_.Mul(finite, element.value), element.masked});
      name += kOfInfinity;
    }
    first = 1;
  }
  for (size_t i = first; i < n.args.size(); ++i) {
    const Op op = f_.nodes[n.args[i]].op;
    if (op == Op::kIntConst || op == Op::kIndex || op == Op::kIntAdd || op == Op::kIntScale ||
        op == Op::kIntDiv || op == Op::kIntMod || op == Op::kWhole || op == Op::kIntElement) {
      Affine e;
      if (!Integer(n.args[i], &e)) return false;
      indices.push_back(std::move(e));
      name += '#';
    } else {
      PolyId p;
      if (!NotMasked(n.args[i], &p)) return false;
      polys.push_back(p);
      name += '.';
    }
  }
  const uint32_t tag = arena_.OpaqueTag(name);
  *atom = n.var >= 0 ? arena_.OpaqueRowAtom(tag, row, body, std::move(indices), std::move(polys))
                     : arena_.OpaqueAtom(tag, std::move(indices), std::move(polys));
  return true;
}

}  // namespace planproof::sdfg
