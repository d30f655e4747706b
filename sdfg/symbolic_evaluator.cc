#include "sdfg/symbolic_evaluator.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "sdfg/function_evaluation.h"

namespace planproof::sdfg {

using solver::Affine;
using solver::IntRange;
using solver::KindOf;
using solver::Symbol;
using solver::SymbolKind;

SymbolicEvaluator::SymbolicEvaluator(solver::Arena* arena, std::vector<const Graph*> graphs,
                                     RepresentationPolicy* policy)
    : arena_(*arena),
      graphs_(std::move(graphs)),
      policy_(*policy),
      symbols_(arena),
      trails_(arena) {}

SymbolicEvaluator::~SymbolicEvaluator() = default;

SymbolicEvaluator::Binding::Binding(SymbolicEvaluator* evaluator, solver::Interval range)
    : evaluator_(*evaluator),
      variable_{evaluator->symbols_.OfBinder(evaluator->binders_, range), range} {
  ++evaluator_.binders_;
}

void SymbolicEvaluator::ClearFailure() {
  request_ = {};
  error_.clear();
  depth_ = 0;
  guards_.clear();
  pinned_.clear();
}

void SymbolicEvaluator::Fail(std::string message) {
  if (error_.empty() && request_.kind == SplitRequest::Kind::kNone) error_ = std::move(message);
}

bool SymbolicEvaluator::IsPinned(Symbol symbol) const {
  return std::find(pinned_.begin(), pinned_.end(), symbol) != pinned_.end();
}

void SymbolicEvaluator::RequestCut(Symbol symbol, int64_t at) {
  if (KindOf(symbol) != SymbolKind::kFree || IsPinned(symbol)) {
    Fail("a decision depends on data or on the row of an opaque function");
    return;
  }
  IntRange r = arena_.RangeOf(symbol);
  if (at <= r.low || at > r.high) {
    Fail(absl::StrCat("an index decision does not follow from splitting its variable ", symbol,
                      " in [", r.low, ", ", r.high, "] at ", at));
    return;
  }
  if (request_.kind == SplitRequest::Kind::kNone && error_.empty()) {
    request_ = {SplitRequest::Kind::kCut, symbol, at};
  }
}

void SymbolicEvaluator::RequestDigit(Symbol symbol, int64_t stride) {
  if (KindOf(symbol) != SymbolKind::kFree || IsPinned(symbol)) {
    Fail("a digit of data or of the row of an opaque function is needed");
    return;
  }
  IntRange r = arena_.RangeOf(symbol);
  if (stride <= 1 || r.high - r.low < stride) {
    // Too short for digits: at most one multiple inside.
    int64_t multiple = solver::FloorDiv(r.low, stride) * stride + stride;
    RequestCut(symbol, multiple);
    return;
  }
  if (request_.kind == SplitRequest::Kind::kNone && error_.empty()) {
    request_ = {SplitRequest::Kind::kDigit, symbol, stride};
  }
}

bool SymbolicEvaluator::HasVariables(const Affine& e) const {
  return std::any_of(e.terms.begin(), e.terms.end(), [this](const auto& term) {
    return KindOf(term.first) == SymbolKind::kFree && !IsPinned(term.first);
  });
}

// Of data, and of the row of an opaque function, quotient and remainder are opaque functions: equal
// numbers have equal ones. Their ranges are part of their names, so that an atom has one range.
void SymbolicEvaluator::OpaqueDivMod(const Affine& v, IntRange r, int64_t divisor, Affine* quotient,
                                     Affine* remainder) {
  IntRange range;
  std::string name = absl::StrCat("quotient by ", divisor);
  if (r.IsBounded()) {
    range = {solver::FloorDiv(r.low, divisor), solver::FloorDiv(r.high, divisor)};
    absl::StrAppend(&name, " in [", range.low, ", ", range.high, "]");
  }
  *quotient = Affine::Of(arena_.IntAtom(arena_.OpaqueAtom(arena_.OpaqueTag(name), {v}, {}), range));
  const uint32_t tag = arena_.OpaqueTag(absl::StrCat("remainder by ", divisor));
  *remainder =
      Affine::Of(arena_.IntAtom(arena_.OpaqueAtom(tag, {v}, {}), IntRange{0, divisor - 1}));
}

bool SymbolicEvaluator::DivMod(const Affine& e, int64_t divisor, Affine* quotient,
                               Affine* remainder) {
  // e = divisor q + v. Coefficients of v are at most half of the divisor in size, for an index that
  // moves down as a rank moves up and crosses no multiple; or they are not negative.
  Affine q, v;
  IntRange r;
  for (const bool around_zero : {true, false}) {
    q = Affine(solver::FloorDiv(e.constant, divisor));
    v = Affine(solver::FloorMod(e.constant, divisor));
    for (const auto& [s, c] : e.terms) {
      int64_t whole = solver::FloorDiv(c, divisor), part = solver::FloorMod(c, divisor);
      if (around_zero && part > divisor / 2) {
        ++whole;
        part -= divisor;
      }
      if (whole != 0) q = q + Affine::Of(s, whole);
      if (part != 0) v = v + Affine::Of(s, part);
    }
    if (e.overflow || v.overflow) {
      Fail("index arithmetic exceeds its limits");
      return false;
    }
    r = arena_.RangeOf(v);
    if (!r.IsBounded()) continue;
    const int64_t low = solver::FloorDiv(r.low, divisor);
    if (low == solver::FloorDiv(r.high, divisor)) {
      *quotient = q + Affine(low);
      *remainder = v - Affine(low * divisor);
      return true;
    }
  }
  if (!HasVariables(v)) {
    OpaqueDivMod(v, r, divisor, quotient, remainder);
    *quotient = *quotient + q;
    return true;
  }
  RequestQuotient(v, r, divisor);
  return false;
}

// A split after which more is known of how often `divisor` goes into v, of range r.
void SymbolicEvaluator::RequestQuotient(const Affine& v, IntRange r, int64_t divisor) {
  // The digit of the variable whose coefficient divides the divisor most coarsely.
  Symbol best = 0;
  int64_t best_coefficient = 0;
  for (const auto& [s, c] : v.terms) {
    if (KindOf(s) != SymbolKind::kFree) continue;
    if (divisor % c == 0 && c > best_coefficient &&
        arena_.RangeOf(s).low < arena_.RangeOf(s).high) {
      best = s;
      best_coefficient = c;
    }
  }
  if (best_coefficient == 0) {
    RequestCrossing(v, divisor);
    return;
  }
  const int64_t stride = divisor / best_coefficient;  // v = c s + rest with c | divisor
  const IntRange rs = arena_.RangeOf(best);
  if (rs.high - rs.low >= stride) {
    RequestDigit(best, stride);
    return;
  }
  // The variable spans less than one digit: the crossing point depends on the rest.
  const IntRange rest = arena_.RangeOf(v - Affine::Of(best, best_coefficient));
  if (rest.low != rest.high) {
    // Another variable takes part; cut that one first if it is longer.
    for (const auto& [s, c] : v.terms) {
      if (s == best || KindOf(s) != SymbolKind::kFree) continue;
      const IntRange ro = arena_.RangeOf(s);
      if (ro.high > ro.low && divisor % c == 0 && ro.high - ro.low >= divisor / c) {
        RequestDigit(s, divisor / c);
        return;
      }
    }
    if (RequestWithout(best, v, r, divisor)) return;
  }
  const int64_t boundary = (solver::FloorDiv(r.low, divisor) + 1) * divisor;
  const int64_t at = solver::CeilDiv(boundary - rest.low, best_coefficient);
  RequestCut(best, std::clamp(at, rs.low + 1, rs.high));
}

// Splits a variable other than `best` whose multiples do not meet those of `divisor`: a row of a
// shard of 80 in heads of 128. False if there is none.
bool SymbolicEvaluator::RequestWithout(Symbol best, const Affine& v, IntRange r, int64_t divisor) {
  for (const auto& [s, c] : v.terms) {
    if (s == best || KindOf(s) != SymbolKind::kFree || IsPinned(s) || divisor % c == 0) continue;
    const IntRange rs = arena_.RangeOf(s);
    if (rs.low == rs.high) continue;
    // After so many steps it is at a multiple again.
    const int64_t period = divisor / std::gcd(divisor, c);
    if (rs.high - rs.low >= period) {
      RequestDigit(s, period);
      return true;
    }
    // Those before `at` stay below the next multiple, whatever the rest is.
    const IntRange rest = arena_.RangeOf(v - Affine::Of(s, c));
    if (!r.IsBounded() || !rest.IsBounded()) return false;
    const int64_t boundary = (solver::FloorDiv(r.low, divisor) + 1) * divisor;
    int64_t at;
    if (__builtin_sub_overflow(boundary, rest.high, &at)) return false;
    at = solver::CeilDiv(at, c);
    RequestCut(s, at > rs.low && at <= rs.high ? at : rs.low + 1);
    return true;
  }
  return false;
}

// Where no digit helps: cuts a variable in the middle of its crossing of a multiple.
void SymbolicEvaluator::RequestCrossing(const Affine& v, int64_t divisor) {
  for (const auto& [s, c] : v.terms) {
    if (KindOf(s) != SymbolKind::kFree || IsPinned(s)) continue;
    const IntRange rs = arena_.RangeOf(s);
    if (rs.low == rs.high) continue;
    const IntRange rest = arena_.RangeOf(v - Affine::Of(s, c));
    int64_t least, boundary, at;
    if (__builtin_mul_overflow(c, rs.low, &least) ||
        __builtin_add_overflow(least, rest.low, &least) ||
        __builtin_mul_overflow(solver::FloorDiv(least, divisor) + 1, divisor, &boundary) ||
        __builtin_sub_overflow(boundary, rest.low, &at)) {
      continue;
    }
    at = solver::CeilDiv(at, c);
    if (at > rs.low && at <= rs.high) {
      RequestCut(s, at);
      return;
    }
  }
  Fail("a quotient of an index depends on data");
}

std::optional<Affine> SymbolicEvaluator::Digit(const IndexDigit& digit, const Indices& indices) {
  Affine i = indices[digit.dim] + Affine(digit.offset);
  Affine q, r;
  if (digit.div != 1) {
    if (!DivMod(i, digit.div, &q, &r)) return std::nullopt;
    i = q;
  }
  if (digit.mod != 0) {
    if (!DivMod(i, digit.mod, &q, &r)) return std::nullopt;
    i = r;
  }
  return i;
}

std::optional<bool> SymbolicEvaluator::GateIsOpen(const IndexDigit& gate, const Indices& indices) {
  const std::optional<Affine> digit = Digit(gate, indices);
  if (!digit.has_value()) return std::nullopt;
  const IntRange range = arena_.RangeOf(*digit);
  if (range.IsBounded() && range.low == range.high) {
    if (range.low == 0 || range.low == 1) return range.low == 1;
    Fail("a gate of an index map is neither 0 nor 1");
    return std::nullopt;
  }
  // It is one symbol, or that and constants, of which each value is looked at by itself.
  for (const auto& [symbol, coefficient] : digit->terms) {
    const IntRange values = arena_.RangeOf(symbol);
    if (KindOf(symbol) != SymbolKind::kFree || IsPinned(symbol) || !values.IsBounded()) continue;
    if (values.low < values.high) {
      RequestCut(symbol, values.low + (values.high - values.low + 1) / 2);
      return std::nullopt;
    }
  }
  Fail("a gate of an index map depends on data");
  return std::nullopt;
}

std::optional<Indices> SymbolicEvaluator::Map(const std::vector<IndexMap>& map,
                                              const Indices& indices) {
  Indices out;
  for (const IndexMap& m : map) {
    Affine value(m.constant);
    for (const IndexTerm& t : m.terms) {
      if (t.gated()) {
        const std::optional<bool> open = GateIsOpen(t.gate, indices);
        if (!open.has_value()) return std::nullopt;
        if (!*open) continue;
      }
      const std::optional<Affine> digit = Digit(t.digit(), indices);
      if (!digit.has_value()) return std::nullopt;
      value = value + digit->Scaled(t.scale);
    }
    out.push_back(std::move(value));
  }
  return out;
}

namespace {

// An element of an unknown tensor has one name: where a dimension has extent 1 the index is 0,
// however it is written (a relation that does not cut the dimension leaves it out).
std::vector<Affine> CanonicalIndices(const Tensor& tensor, const Indices& indices) {
  std::vector<Affine> canonical(indices.begin(), indices.end());
  for (size_t d = 0; d < canonical.size(); ++d) {
    if (tensor.shape[d] == 1) canonical[d] = Affine(0);
  }
  return canonical;
}

}  // namespace

std::optional<MaskedValue> SymbolicEvaluator::Element(TensorRef tensor, const Indices& indices) {
  const Tensor& t = graphs_[tensor.graph]->tensors[tensor.tensor];
  if (t.role == TensorRole::kOne) return MaskedValue{arena_.One(), solver::kZeroPoly};
  if (t.role == TensorRole::kZero) return MaskedValue{};
  Representation r = policy_.Of(tensor);
  switch (r.kind) {
    case Representation::Kind::kAtom: {
      solver::PolyId value = arena_.Element(r.tag, CanonicalIndices(t, indices));
      if (r.zero_unless != nullptr) {
        auto forms = Map(*r.zero_unless, indices);
        if (!forms) return std::nullopt;
        for (const Affine& form : *forms) value = arena_.Mul(arena_.Indicator(form), value);
      }
      return MaskedValue{value, solver::kZeroPoly};
    }
    case Representation::Kind::kAlias: {
      auto mapped = Map(*r.map, indices);
      if (!mapped) return std::nullopt;
      return Element(r.alias, *mapped);
    }
    case Representation::Kind::kDefinition:
      return Defined(tensor, indices);
    case Representation::Kind::kZero:
      return MaskedValue{};
  }
  return std::nullopt;
}

std::optional<Affine> SymbolicEvaluator::IntegerElement(TensorRef tensor, const Indices& indices) {
  const Tensor& t = graphs_[tensor.graph]->tensors[tensor.tensor];
  if (t.role == TensorRole::kOne) return Affine(1);
  if (t.role == TensorRole::kZero) return Affine(0);
  Representation r = policy_.Of(tensor);
  switch (r.kind) {
    case Representation::Kind::kAtom: {
      solver::AtomId atom = arena_.ElementAtom(r.tag, CanonicalIndices(t, indices));
      return Affine::Of(arena_.IntAtom(atom, r.int_range));
    }
    case Representation::Kind::kAlias: {
      auto mapped = Map(*r.map, indices);
      if (!mapped) return std::nullopt;
      return IntegerElement(r.alias, *mapped);
    }
    case Representation::Kind::kDefinition:
      return IntegerDefined(tensor, indices);
    case Representation::Kind::kZero:
      break;
  }
  return std::nullopt;
}

// For each node a bit set of the variables that its value depends on (variables beyond 63 share the
// last bit); bound variables are not removed where they are bound: they are rebound with a new
// epoch.
const std::vector<uint64_t>& SymbolicEvaluator::Dependencies(const IndexFunction& function) {
  auto [it, inserted] = dependencies_.try_emplace(&function);
  if (inserted) {
    std::vector<uint64_t>& d = it->second;
    d.resize(function.nodes.size());
    for (size_t i = 0; i < function.nodes.size(); ++i) {
      const Node& n = function.nodes[i];
      uint64_t bits = 0;
      for (ExprId a : n.args) bits |= d[a];
      const bool binds = n.op == Op::kSum || n.op == Op::kReduceMax || n.op == Op::kReduceMin ||
                         n.op == Op::kOpaque;
      const uint64_t own = n.var < 0 ? 0 : uint64_t{1} << std::min(n.var, 63);
      if (binds && n.var < 63) {
        bits &= ~own;
      } else {
        bits |= own;
      }
      d[i] = bits;
    }
  }
  return it->second;
}

}  // namespace planproof::sdfg
