#include "stages/cells.h"

#include <utility>

namespace planproof::stages {

using sdfg::IndexSymbols;
using sdfg::SplitPart;
using sdfg::SplitRequest;
using solver::Affine;
using solver::Interval;

Cell WholeCell(IndexSymbols* symbols, const sdfg::Shape& shape) {
  Cell whole;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) {
      whole.index.push_back(Affine(0));
      continue;
    }
    const Interval range{0, shape[d]};
    const solver::Symbol s = symbols->OfDimension(d, range);
    whole.symbols.push_back({s, range});
    whole.index.push_back(Affine::Of(s));
  }
  return whole;
}

namespace {

constexpr int kMaxPeeled = 3;
constexpr int64_t kMaxValuesAtOnce = 1024;

bool IsPeeling(const SplitRequest& request, solver::Interval range) {
  return request.kind == SplitRequest::Kind::kCut &&
         (request.at == range.lo + 1 || request.at == range.hi - 1);
}

std::vector<SplitPart> SingleValues(solver::Interval range) {
  std::vector<SplitPart> values;
  for (int64_t value = range.lo; value < range.hi; ++value) {
    values.push_back({Affine(value), {}});
  }
  return values;
}

}  // namespace

bool Split(IndexSymbols* symbols, const Cell& cell, const SplitRequest& request,
           std::vector<Cell>* work) {
  size_t at = 0;
  while (at < cell.symbols.size() && cell.symbols[at].symbol != request.symbol) ++at;
  if (at == cell.symbols.size()) return false;
  const solver::Interval range = cell.symbols[at].domain;
  const bool peeling = IsPeeling(request, range);
  const bool all = peeling && cell.peeled >= kMaxPeeled && range.length() <= kMaxValuesAtOnce;
  for (const SplitPart& part : all ? SingleValues(range) : symbols->Split(request, range)) {
    Cell next = cell;
    next.peeled = peeling && !all ? cell.peeled + 1 : 0;
    next.symbols.erase(next.symbols.begin() + at);
    next.symbols.insert(next.symbols.end(), part.variables.begin(), part.variables.end());
    for (Affine& e : next.index) {
      const int64_t c = e.Coefficient(request.symbol);
      if (c != 0) e = e - Affine::Of(request.symbol, c) + part.replacement.Scaled(c);
    }
    work->push_back(std::move(next));
  }
  return true;
}

}  // namespace planproof::stages
