#include "stages/zero_region.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace planproof::stages {

using solver::Affine;
using solver::PolyId;

namespace {

constexpr size_t kMaxConditions = 4;

// A form over the symbols of a cell as one over the dimensions that they run through.
std::optional<sdfg::IndexMap> OverDimensions(const Affine& form, const Cell& cell) {
  sdfg::IndexMap map;
  map.constant = form.constant;
  for (const auto& [symbol, coefficient] : form.terms) {
    size_t d = 0;
    while (d < cell.index.size() && cell.index[d].Coefficient(symbol) == 0) ++d;
    if (d == cell.index.size()) return std::nullopt;  // of data
    map.terms.push_back({static_cast<int32_t>(d), coefficient});
  }
  return map;
}

}  // namespace

std::vector<sdfg::IndexMap> ZeroRegion(const sdfg::MaskedValue& value, const Cell& cell,
                                       solver::Arena* arena) {
  if (arena->exhausted() || value.masked != solver::kZeroPoly || !arena->premises().empty() ||
      value.value == solver::kZeroPoly) {
    return {};
  }
  std::vector<Affine> conditions;
  for (const solver::Term& term : arena->poly(value.value).terms) {
    for (const solver::Factor& factor : arena->mono(term.mono).factors) {
      const solver::Atom& atom = arena->atom(factor.atom);
      if (atom.kind != solver::AtomKind::kIndicator || conditions.size() == kMaxConditions)
        continue;
      if (std::find(conditions.begin(), conditions.end(), atom.indices[0]) == conditions.end())
        conditions.push_back(atom.indices[0]);
    }
  }
  std::vector<sdfg::IndexMap> forms;
  for (const Affine& condition : conditions) {
    for (const Affine& form : {condition, -condition - Affine(1)}) {
      const PolyId where_not = arena->Indicator(-form - Affine(1));
      const bool zero = arena->IsZero(arena->Mul(where_not, value.value));
      if (!zero || arena->exhausted() || !arena->premises().empty()) continue;
      if (auto over = OverDimensions(form, cell)) forms.push_back(*std::move(over));
    }
  }
  return forms;
}

}  // namespace planproof::stages
