// Keeps what tensors stand for while relations are looked for.
//
// A parallel tensor is read through its relation where it has one, and by its definition otherwise.
// A logical tensor is an unknown value, or, where it only rearranges or masks another one, its
// definition; within a definition that is opened down to some tensors, only these are unknown.
#ifndef PLANPROOF_INFERENCE_FRONTIER_H_
#define PLANPROOF_INFERENCE_FRONTIER_H_

#include <algorithm>
#include <map>
#include <vector>

#include "lineage/lineage.h"
#include "sdfg/symbolic_evaluator.h"
#include "stages/relations.h"

namespace planproof::inference {

class Frontier : public sdfg::RepresentationPolicy {
 public:
  // `problem` must outlive it; lineages, and multiples of logical tensors, may be added to it.
  explicit Frontier(const lineage::Problem& problem)
      : problem_(problem), known_(problem), down_to_(problem.logical.tensors.size(), false) {}

  sdfg::Representation Of(sdfg::TensorRef tensor) override;

  bool Related(sdfg::TensorId parallel) const {
    return problem_.lineage[parallel].kind == lineage::LineageKind::kFull;
  }
  const lineage::Lineage& LineageOf(sdfg::TensorId parallel) const {
    return problem_.lineage[parallel];
  }
  // Not an unknown value of its own: a rearrangement, a mask, a multiple for lineage.
  bool Transparent(sdfg::TensorId logical) const;
  // From now on computed logical tensors are unknown values only if they are among these.
  void OpenDownTo(std::vector<sdfg::TensorId> tensors);
  // From now on these are read by their definitions, too.
  void OpenAlso(std::vector<sdfg::TensorId> tensors);
  // Where elements of logical tensors are 0: forms of the index, negative there. May be null.
  using ZeroRegions = std::map<sdfg::TensorId, std::vector<sdfg::IndexMap>>;
  void SetZeroRegions(const ZeroRegions* regions) { regions_ = regions; }
  bool OpensMore() const { return !also_.empty(); }
  void CloseAll();

 private:
  bool IsAlsoOpen(sdfg::TensorId logical) const {
    return std::find(also_.begin(), also_.end(), logical) != also_.end();
  }
  bool IsEnd(sdfg::TensorId logical) const {
    return static_cast<size_t>(logical) < down_to_.size() && down_to_[logical];
  }
  const lineage::Problem& problem_;
  const stages::Relations known_;  // what is known of logical tensors alone
  std::vector<bool> down_to_;
  std::vector<sdfg::TensorId> opened_down_to_, also_;
  bool open_ = false;
  const ZeroRegions* regions_ = nullptr;
};

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_FRONTIER_H_
