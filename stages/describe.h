// Describes claims, relations and places in words, for reports.
#ifndef PLANPROOF_STAGES_DESCRIBE_H_
#define PLANPROOF_STAGES_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lineage/assumptions.h"
#include "lineage/lineage.h"
#include "stages/claim_table.h"
#include "stages/options.h"
#include "stages/plan_conditions.h"
#include "stages/proof_search.h"
#include "stages/result.h"

namespace planproof::stages {

// "grad.w on device 3 = grad.w[0:32, 8 tp:8 tp + 8]"; the device (the first of the group that holds
// the tensor) only where there are several groups. Whoever describes many tensors keeps one of it.
class LineageDescriber {
 public:
  explicit LineageDescriber(const lineage::Problem& problem);
  std::string Of(sdfg::TensorId parallel, const lineage::Lineage& l) const;

 private:
  const lineage::Problem& problem_;
  bool one_group_ = false;
};
std::string DescribeLineage(const lineage::Problem& problem, sdfg::TensorId parallel,
                            const lineage::Lineage& l);
// "y[0,2] on dp=1, tp=0, microbatch 3" for the full index of a parallel tensor, coordinates first;
// the device where it has no coordinates and there are several.
std::string DescribeElement(const sdfg::Graph& parallel, sdfg::TensorId tensor,
                            const std::vector<int64_t>& index);
// "matmul (cell 12) of ranks 0,1 at tp=1": operators of the parallel graph, the first of them;
// where there are many, those first at which single ranks do otherwise.
enum class Names : uint8_t { kAll, kEachOnce };
std::vector<std::string> DescribeOperators(const sdfg::Graph& parallel,
                                           std::vector<sdfg::OperatorId> operators, Names which);
// Where they stand: each place once, in their order.
std::vector<sdfg::SourceLocation> PlacesOf(const sdfg::Graph& graph,
                                           const std::vector<sdfg::OperatorId>& operators);
// The required relations, each with what it is about.
std::vector<std::string> DescribeRequired(const lineage::Problem& problem);
// Fills stage, operators, sources, devices, microbatches and lineage of the claim into v.
void DescribePlace(const lineage::Problem& problem, const Claim& claim, Violation* v);
// The same for a tensor of the plan without a relation: it reaches the required output `reached`,
// which names the stage, and there is no lineage to print.
void DescribeUnrelated(const lineage::Problem& problem, sdfg::TensorId parallel,
                       sdfg::TensorId reached, Violation* v);
// What a result lists of assumptions, before anything is decided.
std::vector<AssumedRelation> DescribeAssumptions(const lineage::Problem& problem,
                                                 const std::vector<lineage::Assumption>& all);
// One violation that says how far an interrupted run came, and whether it can be resumed.
void ListInterrupted(const VerifyOptions& options, const ClaimTable& table,
                     const ProofSearch& search, bool remembered, Result* result);
// One violation for the first claim of the plan that failed, the others may only follow from it;
// then one per required output that is not proved and per claim that was abandoned, the first few.
void ListUndecided(const lineage::Problem& problem, const VerifyOptions& options,
                   const ClaimTable& table, const ProofSearch& search, Result* result);

// One violation per condition of the plan that the model does not grant, the first few.
void ListRestricted(const lineage::Problem& problem, const ClaimTable& table,
                    const std::vector<OpenCondition>& conditions, Result* result);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DESCRIBE_H_
