// Formats sets of ranks.
#ifndef PLANPROOF_REPORT_RANKS_H_
#define PLANPROOF_REPORT_RANKS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lineage/lineage.h"
#include "report/report.h"
#include "sdfg/graph.h"

namespace planproof::report {

RankSet RankSetOf(std::vector<int> ranks);
// "0-3, 8, 16-64 by 16"; the same with "rank" or "ranks" before it, nothing for no ranks.
std::string ToText(const RankSet& ranks);
std::string Named(const RankSet& ranks);
int64_t CountOf(const RankSet& ranks);
bool Overlap(const RankSet& a, const RankSet& b);
// Those of `all` that are not in `some`.
RankSet Without(const RankSet& all, const RankSet& some);
RankSet Common(const RankSet& a, const RankSet& b);
RankSet Union(const RankSet& a, const RankSet& b);

// The ranks that hold a tensor, or run an operator, of a plan: all instances, and all ranks that
// hold the same. (What does not vary along an axis of its program is there at all coordinates.)
class RanksOfPlan {
 public:
  // The problem must outlive this.
  explicit RanksOfPlan(const lineage::Problem& problem);
  const RankSet& OfTensor(sdfg::TensorId tensor);
  const RankSet& OfOperator(sdfg::OperatorId op);

 private:
  // Of what is on `device` at coordinate 0 of the axes.
  const RankSet& Of(sdfg::Device device, const std::vector<sdfg::AxisId>& axes);

  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  std::vector<sdfg::AxisId> copies_;                   // axes of copies of the whole plan
  std::vector<std::vector<sdfg::AxisId>> of_program_;  // axes along which its tensors vary
  // Most tensors share their device and axes.
  std::map<std::pair<sdfg::Device, std::vector<sdfg::AxisId>>, RankSet> of_tensor_;
  std::map<sdfg::OperatorId, RankSet> of_operator_;
};

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_RANKS_H_
