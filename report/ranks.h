// Sets of ranks.
#ifndef PLANPROOF_REPORT_RANKS_H_
#define PLANPROOF_REPORT_RANKS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "sdfg/graph.h"

namespace planproof::report {

RankSet RankSetOf(std::vector<int> ranks);
// "0-3, 8"; the same with "rank" or "ranks" before it, nothing for no ranks.
std::string ToText(const RankSet& ranks);
std::string Named(const RankSet& ranks);
int64_t CountOf(const RankSet& ranks);
bool Overlap(const RankSet& a, const RankSet& b);
// Those of `all` that are not in `some`.
RankSet Without(const RankSet& all, const RankSet& some);
RankSet Common(const RankSet& a, const RankSet& b);
RankSet Union(const RankSet& a, const RankSet& b);

// The ranks that hold a tensor, or run an operator, of one graph: all instances.
class RanksOfGraph {
 public:
  explicit RanksOfGraph(const sdfg::Graph& graph) : graph_(graph) {}
  const RankSet& OfTensor(sdfg::TensorId tensor);
  const RankSet& OfOperator(sdfg::OperatorId op);

 private:
  const RankSet& Of(const std::vector<sdfg::Device>& first, const std::vector<sdfg::AxisId>& axes);

  const sdfg::Graph& graph_;
  // Most operators share their devices and axes.
  std::map<std::pair<std::vector<sdfg::Device>, std::vector<sdfg::AxisId>>, RankSet> known_;
};

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_RANKS_H_
