#include "inference/index_guess.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace planproof::inference {

using solver::Affine;
using stages::Cell;

int64_t Disorder(const std::vector<Affine>& index, const Cell& cell, const sdfg::Tensor& parallel) {
  const int64_t shift =
      static_cast<int64_t>(parallel.shape.size()) - static_cast<int64_t>(index.size());
  int64_t disorder = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    for (const auto& [symbol, c] : index[d].terms) {
      for (size_t p = parallel.axes.size(); p < cell.index.size(); ++p) {
        if (cell.index[p].Coefficient(symbol) == 0) continue;
        disorder += std::abs(static_cast<int64_t>(p) - static_cast<int64_t>(d) - shift);
      }
    }
  }
  return disorder;
}

size_t Namesake(const std::string& parallel, const std::string& logical) {
  const size_t colon = parallel.rfind(':');
  const std::string name = colon == std::string::npos ? parallel : parallel.substr(colon + 1);
  if (name.compare(0, logical.size(), logical) != 0) return 0;
  const bool ends = name.size() == logical.size() || std::isalnum(name[logical.size()]) == 0;
  return ends ? logical.size() : 0;
}

bool UsesAllDimensions(const std::vector<Affine>& index, const Cell& cell,
                       const sdfg::Tensor& parallel) {
  for (size_t p = parallel.axes.size(); p < cell.index.size(); ++p) {
    for (const auto& term : cell.index[p].terms) {
      const bool used = std::any_of(index.begin(), index.end(), [s = term.first](const Affine& e) {
        return e.Coefficient(s) != 0;
      });
      if (!used) return false;
    }
  }
  return true;
}

bool InSamePlace(const solver::Arena& arena, const Cell& cell, const Cell& definition,
                 const sdfg::Shape& parallel, const sdfg::Shape& logical) {
  const int shift = static_cast<int>(parallel.size()) - static_cast<int>(logical.size());
  for (size_t d = 0; d < logical.size(); ++d) {
    const int same = static_cast<int>(d) + shift;
    if (same < 0 || parallel[same] != logical[d]) continue;
    const solver::IntRange own = arena.RangeOf(cell.index[same]);
    const solver::IntRange defined = arena.RangeOf(definition.index[d]);
    if (own.low < defined.low || own.high > defined.high) return false;
  }
  return true;
}

std::optional<std::vector<Affine>> IndexOf(const Cell& definition, const Cell& cell,
                                           const sdfg::Shape& parallel, const sdfg::Shape& logical,
                                           const IndexSolver::Solution& solution) {
  const int shift = static_cast<int>(parallel.size()) - static_cast<int>(logical.size());
  std::vector<Affine> index;
  for (size_t d = 0; d < definition.index.size(); ++d) {
    const Affine& own = definition.index[d];
    Affine form(own.constant);
    for (const auto& [symbol, c] : own.terms) {
      const auto solved = solution.find(symbol);
      if (solved != solution.end()) {
        form = form + solved->second.Scaled(c);
        continue;
      }
      const int same = static_cast<int>(d) + shift;
      const bool alike = own.terms.size() == 1 && same >= 0 && parallel[same] == logical[d];
      if (!alike) return std::nullopt;
      form = form + cell.index[same];
    }
    index.push_back(std::move(form));
  }
  return index;
}

}  // namespace planproof::inference
