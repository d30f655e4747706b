#include "tests/solver/random_expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace planproof::solver {
namespace {

constexpr long double kMaxExponent = 1000;

Linear Scaled(Linear l, int64_t factor) {
  l.constant *= factor;
  for (auto& [v, c] : l.terms) c *= factor;
  return l;
}

Linear Sum(Linear a, const Linear& b) {
  a.constant += b.constant;
  for (const auto& [v, c] : b.terms) a.terms[v] += c;
  return a;
}

Linear Variable(int v) {
  Linear l;
  l.terms[v] = 1;
  return l;
}

}  // namespace

Generator::Generator(uint64_t seed, GeneratorOptions options) : random_(seed), options_(options) {}

Linear Generator::Index(bool data) {
  Linear l;
  l.constant = Chance(30) ? Pick(5) - 2 : 0;
  if (!scope_.empty() && !Chance(10)) {
    // The innermost names are the likeliest.
    auto pick = [&] {
      size_t back = 0;
      while (back + 1 < scope_.size() && Chance(45)) ++back;
      return scope_[scope_.size() - 1 - back].form;
    };
    l = Sum(l, Chance(15) ? Scaled(pick(), -1) : pick());
    if (Chance(20)) l = Sum(l, Scaled(pick(), Chance(50) ? -1 : 1 + Pick(3)));
  }
  if (data && !scope_.empty()) {
    l.data_coefficient = Chance(50) ? -1 : 1;
    l.data_tag = kIntegerTag + static_cast<uint32_t>(Pick(options_.integer_tags));
    l.data_variable = Pick(options_.free_variables);
    if (Chance(60)) {
      const auto& terms = scope_.back().form.terms;
      if (!terms.empty()) l.data_variable = terms.begin()->first;
    }
  }
  return l;
}

Expression Generator::Leaf() {
  Expression e;
  const int roll = Pick(100);
  if (roll < 10) {
    e.kind = Expression::kConstant;
    e.number = Rational(Pick(7) - 3, 1 + Pick(3));
  } else if (roll < 70 || options_.polynomial) {
    e.kind = Expression::kElement;
    e.tag = Pick(100) < 80 ? Pick(3) : kPositiveTag + Pick(2);
    e.indices.push_back(Index(!options_.polynomial && Chance(12)));
    if (e.tag % 2 == 1) e.indices.push_back(Index(false));
  } else if (roll < 76) {
    e.kind = Expression::kPosition;
    e.indices.push_back(Index(Chance(10)));
  } else if (roll < 88) {
    e.kind = Expression::kIndicator;
    e.indices.push_back(Index(Chance(15)));
  } else {
    e.kind = Expression::kDelta;
    e.indices.push_back(Index(Chance(40)));
  }
  return e;
}

// A value that is positive, or nearly always so.
Expression Generator::Positive(int depth) {
  Expression e;
  switch (Pick(4)) {
    case 0:
      e = Leaf();
      e.kind = Expression::kElement;
      if (e.indices.empty()) e.indices.push_back(Index(false));
      e.tag = kPositiveTag + 2;
      e.indices.resize(1);
      return e;
    case 1:
      e.kind = Expression::kExp;
      e.children.push_back(Make(depth - 1));
      return e;
    case 2: {
      Expression square;
      square.kind = Expression::kPower;
      square.exponent = Exponent{2, 1};
      square.children.push_back(Make(depth - 1));
      if (Chance(40)) return square;
      Expression one;
      one.number = Rational(1, 2);
      e.kind = Expression::kAdd;
      e.children = {square, one};
      return e;
    }
    default:
      e.kind = Expression::kMul;
      e.children = {Positive(depth - 1), Positive(depth - 1)};
      if (depth < 2) return e.children[0];
      return e;
  }
}

Expression Generator::MakeSum(int depth) {
  Expression e;
  e.kind = Expression::kSum;
  e.variable = next_variable_++;
  const int64_t lo = Chance(60) ? 0 : Pick(5) - 2;
  e.domain = {lo, lo + (Chance(4) ? 0 : 1 + Pick(4))};
  const size_t saved = scope_.size();
  if (Chance(35)) {
    // Digits: the body may use stride * outer + inner as one number.
    Expression inner;
    inner.kind = Expression::kSum;
    inner.variable = next_variable_++;
    const int64_t length = 2 + Pick(2);
    inner.domain = {0, length};
    const int64_t stride = Chance(80) ? length : length + 1;
    Linear whole = Sum(Scaled(Variable(e.variable), stride), Variable(inner.variable));
    if (Chance(30)) scope_.push_back({Variable(e.variable), e.domain});
    if (Chance(20)) scope_.push_back({Variable(inner.variable), inner.domain});
    scope_.push_back({whole, {}});
    inner.children.push_back(Make(depth - 1));
    scope_.resize(saved);
    e.children.push_back(std::move(inner));
    return e;
  }
  scope_.push_back({Variable(e.variable), e.domain});
  e.children.push_back(Make(depth - 1));
  scope_.resize(saved);
  return e;
}

Expression Generator::Make(int depth) {
  if (depth <= 0 || Chance(10)) return Leaf();
  Expression e;
  const int roll = options_.polynomial ? Pick(70) : Pick(100);
  if (roll < 20) {
    e.kind = Expression::kAdd;
    e.children = {Make(depth - 1), Make(depth - 1)};
  } else if (roll < 42) {
    e.kind = Expression::kMul;
    e.children = {Make(depth - 1), Make(depth - 1)};
  } else if (roll < 70) {
    return MakeSum(depth);
  } else if (roll < 74) {
    e.kind = Expression::kPower;
    e.exponent = Exponent{Chance(70) ? 2 : 3, 1};
    e.children = {Make(depth - 1)};
  } else if (roll < 79) {
    e.kind = Expression::kPower;
    e.exponent = Exponent{Chance(70) ? -1 : -2, 1};
    e.children = {Chance(50) ? Positive(depth - 1) : Make(depth - 1)};
  } else if (roll < 83) {
    e.kind = Expression::kPower;
    const Exponent choices[] = {{1, 2}, {-1, 2}, {3, 2}, {1, 3}};
    e.exponent = choices[Pick(4)];
    e.children = {Positive(depth - 1)};
  } else if (roll < 86) {
    e.kind = Expression::kExp;
    e.children = {Make(depth - 1)};
  } else if (roll < 88) {
    e.kind = Expression::kLog;
    e.children = {Positive(depth - 1)};
  } else if (roll < 89) {
    e.kind = Expression::kSin;
    e.children = {Make(depth - 1)};
  } else if (roll < 91) {
    e.kind = Expression::kAbs;
    e.children = {Make(depth - 1)};
  } else if (roll < 94) {
    e.kind = Expression::kMax;
    e.children = {Make(depth - 1), Make(depth - 1)};
  } else if (roll < 95) {
    e.kind = Expression::kRealPositive;
    e.children = {Make(depth - 1)};
  } else {
    Expression sum = MakeSum(depth);
    e = sum;
    e.kind = Expression::kReduceMax;
    Expression guard;  // masked where a variable exceeds another
    guard.kind = Expression::kConstant;
    if (Chance(40)) {
      guard.kind = Expression::kIndicator;
      Linear l = Variable(e.variable);
      l.constant = -e.domain.hi + Pick(2);
      if (Chance(50) && !scope_.empty()) l = Sum(Scaled(scope_.back().form, -1), l);
      guard.indices = {l};
    }
    e.children.push_back(guard);
  }
  return e;
}

Expression Generator::Next() {
  scope_.clear();
  next_variable_ = options_.free_variables;
  for (int v = 0; v < options_.free_variables; ++v) scope_.push_back({Variable(v), kFreeDomain});
  return Make(options_.depth);
}

Expression Generator::Mutated(const Expression& e) {
  Expression copy = e;
  std::vector<Expression*> nodes = {&copy};
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (Expression& child : nodes[i]->children) nodes.push_back(&child);
  }
  for (int attempt = 0; attempt < 40; ++attempt) {
    Expression& n = *nodes[Pick(static_cast<int>(nodes.size()))];
    switch (n.kind) {
      case Expression::kConstant:
        n.number = n.number + Rational(1, 2);
        return copy;
      case Expression::kElement:
      case Expression::kPosition:
      case Expression::kIndicator:
      case Expression::kDelta: {
        Linear& l = n.indices[Pick(static_cast<int>(n.indices.size()))];
        if (Chance(30) && !l.terms.empty()) {
          l.terms.begin()->second += 1;
        } else if (n.kind == Expression::kElement && n.indices.size() == 2 && Chance(50)) {
          std::swap(n.indices[0], n.indices[1]);
        } else {
          l.constant += Chance(50) ? 1 : -1;
        }
        return copy;
      }
      case Expression::kSum:
      case Expression::kReduceMax:
        if (Chance(50)) {
          ++n.domain.hi;
        } else if (n.domain.length() > 1) {
          ++n.domain.lo;
        } else {
          --n.domain.lo;
        }
        return copy;
      case Expression::kMul:
      case Expression::kAdd:
        if (Chance(60)) continue;
        n.children[1] = n.children[0];
        return copy;
      case Expression::kPower:
        if (n.exponent.den == 1) n.exponent.num += n.exponent.num > 0 ? 1 : -1;
        if (n.exponent.den == 1) return copy;
        continue;
      default:
        continue;
    }
  }
  return copy;
}

Approximate Evaluate(const Expression& e, Environment* environment) {
  auto index = [&](const Linear& l) {
    int64_t sum = l.constant;
    for (const auto& [v, c] : l.terms) sum += c * environment->at(v);
    if (l.data_coefficient != 0)
      sum += l.data_coefficient * IntegerValue(l.data_tag, {environment->at(l.data_variable)});
    return sum;
  };
  auto child = [&](size_t i) { return Evaluate(e.children[i], environment); };
  switch (e.kind) {
    case Expression::kConstant:
      return Of(e.number.ToDouble());
    case Expression::kElement: {
      std::vector<int64_t> indices;
      for (const Linear& l : e.indices) indices.push_back(index(l));
      return Of(ElementValue(e.tag, indices));
    }
    case Expression::kPosition:
      return Of(static_cast<long double>(index(e.indices[0])));
    case Expression::kIndicator:
      return Of(index(e.indices[0]) >= 0);
    case Expression::kDelta:
      return Of(index(e.indices[0]) == 0);
    case Expression::kRealPositive: {
      Approximate x = child(0);
      return std::isfinite(x.value) ? Of(!IsZeroValue(x) && x.value > 0) : x;
    }
    case Expression::kAdd:
      return child(0) + child(1);
    case Expression::kMul:
      return child(0) * child(1);
    case Expression::kPower: {
      Approximate x = child(0);
      if (e.exponent.den != 1 && x.value < 0 && !IsZeroValue(x)) return Undefined(x);
      return PowerOf(x, static_cast<long double>(e.exponent.num) / e.exponent.den);
    }
    case Expression::kExp: {
      Approximate x = child(0);
      if (std::isnan(x.value)) return x;
      // Beyond what numbers can tell.
      if (std::fabs(x.value) > kMaxExponent) x.scale = std::numeric_limits<long double>::infinity();
      return {std::exp(x.value), std::exp(x.value) * (1 + x.scale)};
    }
    case Expression::kLog: {
      Approximate x = child(0);
      if (std::isnan(x.value)) return x;
      if (IsZeroValue(x) || x.value < 0) return Undefined(x);
      return {std::log(x.value), std::fabs(std::log(x.value)) + x.scale / std::fabs(x.value)};
    }
    case Expression::kSin: {
      Approximate x = child(0);
      return {std::sin(x.value), 1 + x.scale};
    }
    case Expression::kAbs: {
      Approximate x = child(0);
      return {std::fabs(x.value), x.scale};
    }
    case Expression::kMax: {
      Approximate x = child(0), y = child(1);
      if (!std::isfinite(x.value)) return x;
      return {y.value > x.value || !std::isfinite(y.value) ? y.value : x.value,
              std::max(x.scale, y.scale)};
    }
    case Expression::kSum: {
      Approximate sum;
      for (int64_t k = e.domain.lo; k < e.domain.hi; ++k) {
        (*environment)[e.variable] = k;
        sum = sum + child(0);
      }
      environment->erase(e.variable);
      return sum;
    }
    case Expression::kReduceMax: {
      Approximate best = Of(std::numeric_limits<long double>::quiet_NaN());
      bool any = false, undefined = false;
      for (int64_t k = e.domain.lo; k < e.domain.hi; ++k) {
        (*environment)[e.variable] = k;
        if (child(1).value > 0.5L) continue;
        Approximate x = child(0);
        undefined |= !std::isfinite(x.value);
        best = any ? Approximate{std::max(best.value, x.value), std::max(best.scale, x.scale)} : x;
        any = true;
      }
      environment->erase(e.variable);
      return undefined ? Of(std::numeric_limits<long double>::quiet_NaN()) : best;
    }
  }
  return {};
}

Builder::Builder(Arena* arena, int free_variables, std::mt19937_64* random)
    : arena_(*arena), random_(random), free_variables_(free_variables) {
  for (int v = 0; v < free_variables; ++v)
    symbols_[v] = arena_.NewFree(kFreeDomain.lo, kFreeDomain.hi - 1);
}

FreeValues Builder::Values(const Environment& environment) const {
  FreeValues values;
  for (int v = 0; v < free_variables_; ++v) values[symbols_.at(v)] = environment.at(v);
  return values;
}

Affine Builder::Of(const Linear& l) {
  Affine e(l.constant);
  for (const auto& [v, c] : l.terms) e = e + Affine::Of(symbols_.at(v), c);
  if (l.data_coefficient != 0) {
    AtomId atom = arena_.ElementAtom(l.data_tag, {Affine::Of(symbols_.at(l.data_variable))});
    e = e + Affine::Of(arena_.IntAtom(atom, {0, kIntegerTagMax}), l.data_coefficient);
  }
  return e;
}

PolyId Builder::SumOf(const Expression& e, Interval domain) {
  const Symbol s = arena_.NewFree(domain.lo, domain.hi - 1);
  symbols_[e.variable] = s;
  PolyId body = Build(e.children[0]);
  const int64_t cut = random_ == nullptr || domain.length() < 2
                          ? domain.lo
                          : domain.lo + (*random_)() % domain.length();
  if (cut == domain.lo) return arena_.Sum({s, domain}, body);
  PolyId total = kZeroPoly;
  const bool rebuild = (*random_)() % 2 == 0;
  for (Interval part : {Interval{cut, domain.hi}, Interval{domain.lo, cut}}) {
    const Symbol fresh = arena_.NewFree(part.lo, part.hi - 1);
    PolyId piece;
    if (rebuild) {
      symbols_[e.variable] = fresh;
      piece = Build(e.children[0]);
    } else {
      piece = arena_.Substitute(body, {{s, Affine::Of(fresh)}});
    }
    total = arena_.Add(total, arena_.Sum({fresh, part}, piece));
  }
  return total;
}

PolyId Builder::Build(const Expression& e) {
  const bool swap = random_ != nullptr && (*random_)() % 2 == 0;
  switch (e.kind) {
    case Expression::kConstant:
      return arena_.Constant(e.number);
    case Expression::kElement: {
      std::vector<Affine> indices;
      for (const Linear& l : e.indices) indices.push_back(Of(l));
      return arena_.Element(e.tag, std::move(indices));
    }
    case Expression::kPosition:
      return arena_.Position(Of(e.indices[0]));
    case Expression::kIndicator:
      return arena_.Indicator(Of(e.indices[0]));
    case Expression::kDelta:
      return arena_.Delta(Of(e.indices[0]));
    case Expression::kRealPositive:
      return arena_.RealPositive(Build(e.children[0]));
    case Expression::kAdd:
    case Expression::kMul:
    case Expression::kMax: {
      PolyId a = Build(e.children[swap ? 1 : 0]), b = Build(e.children[swap ? 0 : 1]);
      return e.kind == Expression::kAdd   ? arena_.Add(a, b)
             : e.kind == Expression::kMul ? arena_.Mul(a, b)
                                          : arena_.Max(a, b);
    }
    case Expression::kPower:
      return arena_.Power(Build(e.children[0]), e.exponent);
    case Expression::kExp:
      return arena_.Exp(Build(e.children[0]));
    case Expression::kLog:
      return arena_.Log(Build(e.children[0]));
    case Expression::kSin:
      return arena_.Unary(AtomKind::kSin, Build(e.children[0]));
    case Expression::kAbs:
      return arena_.Abs(Build(e.children[0]));
    case Expression::kSum:
      if (e.domain.length() == 0) return kZeroPoly;
      return SumOf(e, e.domain);
    case Expression::kReduceMax: {
      if (e.domain.length() == 0) return kZeroPoly;
      const Symbol s = arena_.NewFree(e.domain.lo, e.domain.hi - 1);
      symbols_[e.variable] = s;
      PolyId body = Build(e.children[0]);
      symbols_[e.variable] = s;
      return arena_.ReduceMax({s, e.domain}, body, Build(e.children[1]));
    }
  }
  return kZeroPoly;
}

}  // namespace planproof::solver
