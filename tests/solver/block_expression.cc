#include "tests/solver/block_expression.h"

#include <algorithm>
#include <utility>

namespace planproof::solver {
namespace {

constexpr int kFreeQuery = 0, kFreeDigit = 1, kFreeVariables = 2;

Linear LinearOf(int variable, int64_t coefficient = 1, int64_t constant = 0) {
  Linear l;
  l.constant = constant;
  if (coefficient != 0) l.terms[variable] = coefficient;
  return l;
}

Linear Plus(Linear a, const Linear& b, int64_t factor = 1) {
  a.constant += factor * b.constant;
  for (const auto& [v, c] : b.terms) a.terms[v] += factor * c;
  return a;
}

Expression Element(uint32_t tag, std::vector<Linear> indices) {
  Expression e;
  e.kind = Expression::kElement;
  e.tag = tag;
  e.indices = std::move(indices);
  return e;
}

Expression Call(Expression::Kind kind, std::vector<Expression> children) {
  Expression e;
  e.kind = kind;
  e.children = std::move(children);
  return e;
}

Expression Power(Expression base, Exponent exponent) {
  Expression e = Call(Expression::kPower, {std::move(base)});
  e.exponent = exponent;
  return e;
}

// Constants 0 and 1 for nothing.
Expression Chain(Expression::Kind kind, std::vector<Expression> parts) {
  if (parts.empty()) {
    Expression e;
    e.number = Rational(kind == Expression::kMul ? 1 : 0);
    return e;
  }
  Expression e = std::move(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) e = Call(kind, {std::move(e), std::move(parts[i])});
  return e;
}

Expression SumOver(int variable, Interval domain, Expression body) {
  Expression e = Call(Expression::kSum, {std::move(body)});
  e.variable = variable;
  e.domain = domain;
  return e;
}

}  // namespace

BlockGenerator::BlockGenerator(uint64_t seed) : random_(seed) {
  form_ = static_cast<int>(Between(0, 6));
  exponent_ = Chance(70) ? -1 : -2;
  below_ = SomeRow();
  above_ = Chance(50) ? below_ : SomeRow();
  outer_ = {1, -1, Between(-2, 3)};
  const int64_t first = Between(-1, 1);
  queries_ = {first, first + Between(2, 6)};
}

int64_t BlockGenerator::Between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

BlockGenerator::Row BlockGenerator::SomeRow() {
  Row row;
  const int64_t first = Between(-1, 2);
  row.keys = {first, first + Between(2, 8)};
  for (int64_t n = Chance(80) ? 1 : Between(0, 2); n > 0; --n) {
    Mask mask{Chance(85) ? 1 : Between(-1, 2), Chance(85) ? -1 : Between(-2, 2), Between(-2, 6)};
    if (mask.query == 0 && mask.key == 0) mask.key = -1;
    row.masks.push_back(mask);
  }
  row.kernel = static_cast<int>(Between(0, 7));
  if (Chance(25)) row.route = static_cast<int>(Between(1, 4));
  if (Chance(30)) row.digit = Between(2, 8);
  if (Chance(20)) row.shift = Between(-3, 3);
  return row;
}

// Blocks whose union is the range.
std::vector<Interval> BlockGenerator::Cut(Interval range) {
  std::vector<Interval> blocks;
  for (int64_t from = range.lo; from < range.hi;) {
    const int64_t to = Chance(40) ? range.hi : Between(from + 1, range.hi);
    blocks.push_back({from, to});
    from = to;
  }
  std::shuffle(blocks.begin(), blocks.end(), random_);
  return blocks;
}

Expression BlockGenerator::Largest(const Row& row, const Linear& query) {
  std::vector<Expression> maxima;
  for (const Interval& block : Cut(row.keys)) {
    Expression e;
    e.kind = Expression::kReduceMax;
    e.variable = next_variable_++;
    e.domain = block;
    const Linear at = Plus(LinearOf(e.variable), LinearOf(kFreeDigit, row.digit, row.shift));
    e.children = {Element(1, {query, at}), Chain(Expression::kAdd, {})};
    maxima.push_back(std::move(e));
  }
  return Chain(Expression::kMax, std::move(maxima));
}

Expression BlockGenerator::Kernel(const Row& row, const Linear& query, const Linear& key) {
  const Linear at = Plus(key, LinearOf(kFreeDigit, row.digit, row.shift));
  switch (row.kernel) {
    case 0:
      return Call(Expression::kExp, {Element(1, {query, at})});
    case 1:
      return Element(kPositiveTag + 1, {query, at});
    case 2:
      return Element(1, {query, at});
    case 3:
      return Call(Expression::kMul,
                  {Element(1, {query, at}), Element(0, {Plus(at, LinearOf(0, 0, 1))})});
    case 4:
      return Power(Element(2, {at}), {2, 1});
    case 5:
      return Call(Expression::kExp, {Element(0, {at})});
    case 6: {
      Expression minus;
      minus.number = Rational(-1);
      minus = Call(Expression::kMul, {minus, Largest(row, query)});
      return Call(Expression::kExp, {Call(Expression::kAdd, {Element(1, {query, at}), minus})});
    }
    default:
      return Chain(Expression::kMul, {});
  }
}

// [id of the key = query], [= key], [= free variable 1], or [id of the query = key].
Expression BlockGenerator::Routing(const Row& row, const Query& query, int key) {
  const int asking = query.form.terms.begin()->first;
  Linear l = row.route == 1 ? query.form : LinearOf(row.route == 3 ? kFreeDigit : key);
  l.data_coefficient = -1;
  l.data_tag = kIntegerTag + static_cast<uint32_t>(row.kernel);
  l.data_variable = row.route == 4 ? asking : key;
  Expression e;
  e.kind = Expression::kDelta;
  e.indices = {l};
  return e;
}

bool BlockGenerator::Conditions(const Row& row, const Query& query, int variable, Interval block,
                                std::vector<Expression>* factors) {
  for (const Mask& m : row.masks) {
    int64_t least = m.constant, most = m.constant;
    for (const auto& [factor, values] :
         {std::pair(m.query, query.values), std::pair(m.key, block)}) {
      least += std::min(factor * values.lo, factor * (values.hi - 1));
      most += std::max(factor * values.lo, factor * (values.hi - 1));
    }
    if ((most < 0 || (careless_ && Chance(8))) && Chance(60)) return false;
    if ((least >= 0 || (careless_ && Chance(15))) && Chance(60)) continue;
    Expression condition;
    condition.kind = Expression::kIndicator;
    condition.indices = {
        Plus(Plus(LinearOf(variable, m.key, m.constant), query.form, m.query), Linear())};
    factors->push_back(std::move(condition));
  }
  return true;
}

Expression BlockGenerator::Blocks(const Row& row, const Query& query) {
  std::vector<Expression> sums;
  for (const Interval& block : Cut(row.keys)) {
    const int k = next_variable_++;
    std::vector<Expression> factors;
    if (!Conditions(row, query, k, block, &factors)) continue;
    factors.push_back(Kernel(row, query.form, LinearOf(k)));
    if (row.route > 0) factors.push_back(Routing(row, query, k));
    std::shuffle(factors.begin(), factors.end(), random_);
    sums.push_back(SumOver(k, block, Chain(Expression::kMul, std::move(factors))));
  }
  return Chain(Expression::kAdd, std::move(sums));
}

Expression BlockGenerator::Fraction(const Query& query) {
  Expression below = Blocks(below_, query);
  if (form_ % 2 == 1) below = Call(Expression::kMul, {std::move(below), Blocks(above_, query)});
  return Power(std::move(below), {exponent_, 1});
}

// sum over q of gradient[q] [q - free >= c] exp(score[q, free]) / row(q)
Expression BlockGenerator::OverQueries() {
  std::vector<Expression> sums;
  for (const Interval& block : Cut(queries_)) {
    const int q = next_variable_++;
    const Query query{LinearOf(q), block};
    Row column;
    column.masks = {{outer_.key, outer_.query, outer_.constant}};  // of queries for one key
    std::vector<Expression> factors;
    if (!Conditions(column, {LinearOf(kFreeQuery), kFreeDomain}, q, block, &factors)) continue;
    factors.push_back(Element(0, {LinearOf(q)}));
    if (form_ > 3) factors.push_back(Element(1, {LinearOf(q), LinearOf(kFreeQuery)}));
    factors.push_back(Fraction(query));
    if (form_ == 6) factors.push_back(Blocks(above_, query));
    sums.push_back(SumOver(q, block, Chain(Expression::kMul, std::move(factors))));
  }
  return Chain(Expression::kAdd, std::move(sums));
}

Expression BlockGenerator::Render(bool careless) {
  next_variable_ = kFreeVariables;
  careless_ = careless;
  const Query free{LinearOf(kFreeQuery), kFreeDomain};
  switch (form_) {
    case 0:
      return Fraction(free);
    case 1:
    case 2:
      return Call(Expression::kMul, {Blocks(above_, free), Fraction(free)});
    default:
      return OverQueries();
  }
}

}  // namespace planproof::solver
