// Cuts sums at constant indices: a sum from which single elements were taken out meets the whole
// sum only where the latter is divided at these elements, too. In the same way sums over every s-th
// element meet the whole sum where that is divided by the remainder modulo s.
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
  // Collects the constant indices at which elements are read in p: by themselves, within functions
  // and sums, and as ids that stand in indices and conditions.
  ElementCuts(Arena* arena, PolyId p);

  bool empty() const { return indices_.empty(); }
  bool has_steps() const { return !steps_.empty(); }
  // By dimension of the sum's box, ascending: where the elements that its body reads one after
  // another meet those indices, and the place after each.
  std::vector<std::vector<int64_t>> Of(const Atom& sum) const;
  // By dimension of the sum's box: the n for which each n-th element that its body reads is read by
  // itself in p, beginning at different places; 1 where there is none.
  std::vector<int64_t> StepsOf(const Atom& sum) const;

 private:
  using Dimension = std::pair<uint32_t, size_t>;  // of a tensor
  void VisitReads(const Atom& sum,
                  const std::function<void(Dimension, const Affine& form, size_t d)>& visit) const;

  Arena& arena_;
  std::map<Dimension, std::vector<int64_t>> indices_;
  std::map<Dimension, int64_t> steps_;
};

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_ELEMENT_CUTS_H_
