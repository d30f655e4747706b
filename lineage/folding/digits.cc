#include "lineage/folding/digits.h"

#include <algorithm>

namespace planproof::lineage::folding {

using sdfg::IndexMap;
using sdfg::IndexTerm;

namespace {

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// The digits have these radices, the lowest digit first.
std::optional<IndexMap> FitWith(const std::vector<int64_t>& values,
                                const std::vector<int64_t>& radices, int32_t dim) {
  const int64_t count = static_cast<int64_t>(values.size());
  IndexMap form;
  form.constant = values[0];
  int64_t unit = 1;
  for (const int64_t radix : radices) {
    int64_t scale = 0;
    if (__builtin_sub_overflow(values[unit], values[0], &scale)) return std::nullopt;
    const int64_t next = unit * radix;
    int64_t continued = 0;
    IndexTerm* last = form.terms.empty() ? nullptr : &form.terms.back();
    // The digits below go on: together they are one digit of a larger radix.
    if (last != nullptr && last->div * last->mod == unit &&
        !__builtin_mul_overflow(last->scale, last->mod, &continued) && continued == scale) {
      last->mod *= radix;
    } else if (scale != 0) {
      form.terms.push_back({dim, scale, unit, radix, 0});
    }
    unit = next;
  }
  if (!form.terms.empty() && form.terms.back().div * form.terms.back().mod == count) {
    form.terms.back().mod = 0;  // the uppermost digit
  }
  for (int64_t r = 0; r < count; ++r) {
    if (ValueAt(form, r) != values[r]) return std::nullopt;
  }
  return form;
}

}  // namespace

int64_t ValueAt(const IndexMap& form, int64_t rank) {
  int64_t value = form.constant;
  for (const IndexTerm& term : form.terms) {
    int64_t part = 0;
    if (__builtin_mul_overflow(term.scale, term.At(rank), &part) ||
        __builtin_add_overflow(value, part, &value)) {
      return INT64_MIN;  // no slice starts there
    }
  }
  return value;
}

std::optional<IndexMap> FitDigits(const std::vector<int64_t>& values, int32_t dim) {
  if (values.empty()) return std::nullopt;
  std::vector<int64_t> radices = PrimeFactors(static_cast<int64_t>(values.size()));
  std::optional<IndexMap> form = FitWith(values, radices, dim);
  if (form.has_value()) return form;
  std::reverse(radices.begin(), radices.end());
  return FitWith(values, radices, dim);
}

sdfg::ExprId Express(const IndexMap& form, sdfg::ExprId rank, sdfg::IndexFunctionBuilder* builder) {
  sdfg::ExprId sum = builder->Int(form.constant);
  for (const IndexTerm& term : form.terms) {
    sdfg::ExprId digit = builder->IntDiv(rank, term.div);
    if (term.mod > 0) digit = builder->IntMod(digit, term.mod);
    sum = builder->IntAdd(sum, builder->IntScale(term.scale, digit));
  }
  return sum;
}

}  // namespace planproof::lineage::folding
