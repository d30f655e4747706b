// Computes how a claim divides its indices into intervals whose indices are interchangeable.
//
// Both sides are evaluated on whole intervals, again and again, until every run of a loop is
// exactly one interval of each dimension that is read in it, and every constant index is an
// interval of its own. Then the claim at an index of the parallel tensor depends only on which
// intervals its coordinates lie in and which of them coincide, and sums run over whole intervals:
// the premises of the theorem on weighted representatives (docs/soundness.md).
#ifndef PLANPROOF_STAGES_SMT_STRUCTURE_H_
#define PLANPROOF_STAGES_SMT_STRUCTURE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "stages/claim.h"
#include "stages/relations.h"
#include "stages/smt/evaluation.h"

namespace planproof::stages {

// A claim as it is asked.
struct SmtClaimView {
  const lineage::Problem& problem;
  const Relations& relations;
  const Claim& claim;
  const std::set<sdfg::TensorId>& unfolded;
  bool itself;  // the claimed logical tensor is an unknown value
};

// One side of the claim at an index of the parallel tensor. Integer tensors give an integer term.
struct SmtSide {
  bool masked = false;
  solver::RawId term = 0;
  int sums = 0;
};
bool EvaluateSide(const SmtClaimView& view, bool parallel, const std::vector<SmtIndex>& index,
                  SmtEvaluation* evaluation, SmtSide* out);

// A box of indices of the parallel tensor within which nothing is decided differently. Intervals
// that are read at one index belong to one group: they have one length, and what is said of an
// index of one is said of the same one (counted from the other end if `reversed`) of all.
struct SmtCell {
  struct Index {
    int64_t low = 0, length = 0;
    int group = 0;
    bool reversed = false;
  };
  std::vector<Index> indices;  // by dimension of the parallel tensor
  struct Group {
    int64_t length = 0;
    std::vector<int> free;  // dimensions of the parallel tensor
  };
  std::vector<Group> groups;
  struct Interval {
    int group = 0;
    bool reversed = false;
  };
  // What is read in this cell, by tensor, dimension and first index.
  std::map<std::tuple<sdfg::TensorId, int, int64_t>, Interval> intervals;
};

struct SmtStructure {
  std::string error;  // not empty: nothing else is of use
  std::vector<SmtCell> cells;
  bool complete = true;  // these are all cells
  // All of the above holds: otherwise groups and intervals serve only to look for differences.
  bool interchangeable = false;
  BlockStarts starts;  // of the intervals
  std::set<sdfg::TensorId> unknowns;
  int sums = 0;  // largest number of sums in one monomial
  int maxima = 0;
  bool polynomial = true, binds = false;  // as SmtEvaluation has them
  bool mentions_target = false;           // somewhere the parallel side reads the claimed tensor
};

SmtStructure FindSmtStructure(const SmtClaimView& view, const SmtLimits& limits);

// In each interval that the cell reads, so many representatives (by group): single indices, from
// the end where the group counts, and one block for the rest. Intervals that it is not known to
// read have `otherwise` representatives.
BlockStarts ChooseBlocks(const lineage::Problem& problem, const SmtStructure& structure,
                         const SmtCell& cell, const std::vector<int>& representatives,
                         int otherwise);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SMT_STRUCTURE_H_
