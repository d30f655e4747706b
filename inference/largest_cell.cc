#include "inference/largest_cell.h"

#include <algorithm>
#include <utility>

namespace planproof::inference {

using stages::Cell;

namespace {

double Volume(const Cell& cell) {
  double volume = 1;
  for (const solver::BoundVariable& v : cell.symbols) {
    volume *= static_cast<double>(v.domain.length());
  }
  return volume;
}

}  // namespace

Cell TakeLargest(std::vector<Cell>* work) {
  const auto largest =
      std::max_element(work->begin(), work->end(),
                       [](const Cell& a, const Cell& b) { return Volume(a) < Volume(b); });
  Cell cell = std::move(*largest);
  work->erase(largest);
  return cell;
}

}  // namespace planproof::inference
