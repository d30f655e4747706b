// Constant indices as cuts of sums: a sum from which single elements were taken out meets the whole
// sum only where the latter is divided at these elements, too.
#ifndef PLANPROOF_SOLVER_ELEMENT_CUTS_H_
#define PLANPROOF_SOLVER_ELEMENT_CUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "solver/term.h"

namespace planproof::solver {

class ElementCuts {
 public:
  // Collects the constant indices at which p and the bodies of its sums read elements.
  ElementCuts(const Arena& arena, PolyId p);

  bool empty() const { return indices_.empty(); }
  // By dimension of the sum's box, ascending: where the elements that its body reads one after
  // another meet those indices, and the place after each.
  std::vector<std::vector<int64_t>> Of(const Atom& sum) const;

 private:
  void Collect(MonoId mono);
  void ForEachElement(AtomId id, const std::function<void(const Atom&)>& visit) const;

  const Arena& arena_;
  std::map<std::pair<uint32_t, size_t>, std::vector<int64_t>> indices_;  // by tensor and dimension
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_ELEMENT_CUTS_H_
