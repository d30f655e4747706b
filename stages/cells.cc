#include "stages/cells.h"

#include <utility>

namespace planproof::stages {

using sdfg::SplitRequest;
using solver::Affine;
using solver::Interval;

Cell WholeCell(solver::Arena* arena, const sdfg::Shape& shape) {
  Cell whole;
  for (int64_t extent : shape) {
    if (extent == 1) {
      whole.index.push_back(Affine(0));
      continue;
    }
    solver::Symbol s = arena->NewFree(0, extent - 1);
    whole.symbols.push_back({s, {0, extent}});
    whole.index.push_back(Affine::Of(s));
  }
  return whole;
}

bool Split(solver::Arena* arena, const Cell& cell, const SplitRequest& request,
           std::vector<Cell>* work) {
  size_t at = 0;
  while (at < cell.symbols.size() && cell.symbols[at].symbol != request.symbol) ++at;
  if (at == cell.symbols.size()) return false;
  const Interval d = cell.symbols[at].domain;
  auto push = [&](const std::vector<std::pair<Interval, int64_t>>& digits) {
    Cell next = cell;
    next.symbols.erase(next.symbols.begin() + at);
    Affine replacement;
    for (const auto& [domain, stride] : digits) {
      if (domain.length() == 1) {
        replacement = replacement + Affine(domain.lo * stride);
        continue;
      }
      solver::Symbol s = arena->NewFree(domain.lo, domain.hi - 1);
      next.symbols.push_back({s, domain});
      replacement = replacement + Affine::Of(s, stride);
    }
    for (Affine& e : next.index) {
      const int64_t c = e.Coefficient(request.symbol);
      if (c != 0) e = e - Affine::Of(request.symbol, c) + replacement.Scaled(c);
    }
    work->push_back(std::move(next));
  };
  if (request.kind == SplitRequest::Kind::kCut) {
    push({{Interval{d.lo, request.at}, 1}});
    push({{Interval{request.at, d.hi}, 1}});
    return true;
  }
  const int64_t s = request.at;
  const int64_t first = solver::CeilDiv(d.lo, s), last = solver::FloorDiv(d.hi, s);
  if (first >= last) {
    push({{Interval{d.lo, first * s}, 1}});
    push({{Interval{first * s, d.hi}, 1}});
    return true;
  }
  if (d.lo < first * s) push({{Interval{d.lo, first * s}, 1}});
  if (last * s < d.hi) push({{Interval{last * s, d.hi}, 1}});
  push({{Interval{first, last}, s}, {Interval{0, s}, 1}});
  return true;
}

}  // namespace planproof::stages
