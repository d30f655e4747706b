// Searches for numbers that refute a plan, and confirms them.
//
// The search evaluates both graphs in double precision on block-constant inputs and compares every
// required relation. A difference is only a candidate; it is confirmed by evaluating the same
// inputs in interval arithmetic (doubles first, then multiple precision), where every value and
// every premise (denominators, logarithms, roots, declared conditions) is enclosed: the two
// enclosures are disjoint, so the exact values differ. What is confirmed is a difference of the
// full-size plan. An element that has a value in the model and certainly none in the plan is a
// difference, too (domain_interval.h), if it is asked for and no values that differ are found.
#ifndef PLANPROOF_SHAPE_REDUCTION_WITNESS_H_
#define PLANPROOF_SHAPE_REDUCTION_WITNESS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/undefined_origin.h"
#include "witness/witness.h"

namespace planproof::shape_reduction {

class FocusedEvaluation;

struct WitnessOptions {
  int attempts = 16;
  double time_budget_s = 10;  // processor time
  // Of one attempt in SearchFocused, if it is less: the search ends where one takes longer.
  double attempt_budget_s = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;
  int64_t max_elements = int64_t{1} << 22;
  int max_precision = 1024;  // bits of the last interval evaluation
  bool localise = true;      // find the first parallel tensor that deviates
  // Parallel tensors whose lineage is in doubt, if that is known: all others that do not depend on
  // them need not be evaluated (search_scope.h). Confirmation evaluates everything.
  std::vector<sdfg::TensorId> suspects;
  // Parallel tensors shown to be what their lineage says wherever they are defined: an undefined
  // value that comes from them is no counterexample (FindUndefinedOrigin).
  std::vector<sdfg::TensorId> proved;
  bool undefined_counts = false;     // an element without a value is a witness, too
  size_t max_printed_values = 4096;  // of one input (DescribeInputs)
  bool keep_data = false;            // a counterexample comes as data, too
};

// The first parallel tensor, in topological order, that is not what its full lineage says.
struct Deviation {
  bool found = false;
  sdfg::TensorId tensor = sdfg::kNone;  // parallel
  sdfg::OperatorId op = sdfg::kNone;    // its producer
  std::vector<int64_t> index;           // an element of it, coordinates first
  std::vector<sdfg::Device> devices;    // devices of the instance that holds that element
  std::string coordinates;              // "dp 1, microbatch 0", empty if it has no axes
  double logical_value = 0, parallel_value = 0;
};

struct Witness {
  enum class Outcome : uint8_t {
    kNone,         // no difference was found
    kConfirmed,    // a difference, by disjoint enclosures, or an undefined value
    kUnconfirmed,  // double precision differs, intervals did not separate it
    kExhausted,    // the graphs could not be evaluated within the limits
  };
  Outcome outcome = Outcome::kNone;
  int required = -1;                    // position in Problem::required
  std::vector<int64_t> parallel_index;  // of the element, coordinates first
  std::vector<int64_t> logical_index;
  double logical_low = 0, logical_high = 0;  // enclosure of the logical value
  double parallel_low = 0, parallel_high = 0;
  std::string logical_value, parallel_value;  // "0.25", or "[0.2499, 0.2501]" where it is wide
  // Where the model's element has a value and the plan's certainly has none: which operator does
  // not give one, and why.
  UndefinedOrigin undefined;
  int precision = 0;  // bits of the confirming evaluation; 53: doubles
  Deviation first;
  uint64_t seed = 0;  // reproduces the inputs with the same binary
  // Set by a focused search: both graphs on the witness, for whoever explains it.
  std::shared_ptr<FocusedEvaluation> evaluation;
  sdfg::TensorId focus = sdfg::kNone;  // the tensor on which it was focused
  bool numbers_explain =
      false;  // both graphs can be evaluated on exact numbers, too, which say more
  std::vector<std::string> inputs;               // name, partition and values per block
  std::shared_ptr<const witness::Witness> data;  // of a confirmed one, if it is asked for
  std::vector<std::string> example;              // the same for people, if short: "x = [1, 2]"
  int attempts = 0;                              // evaluated without objection
  bool undefined_seen = false;  // in doubles, some element had a value in the model alone
  std::string message;          // why not, or what was in the way
};

Witness SearchWitness(const lineage::Problem& problem, const WitnessOptions& options);

// Evaluates on the inputs of `seed` and compares every parallel tensor with its entry in `lineage`
// (kind kFull) in topological order.
Deviation FindFirstDeviation(const lineage::Problem& problem,
                             const std::vector<lineage::Lineage>& lineage, uint64_t seed,
                             const WitnessOptions& options);

// A numeric judge for mutation tests: whether all required relations hold on `attempts` inputs in
// double precision; differences count only if they are confirmed or far above rounding.
enum class NumericVerdict : uint8_t { kEqual, kDifferent, kUnknown };
NumericVerdict NumericEqual(const lineage::Problem& problem, int attempts, uint64_t seed = 1);

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_WITNESS_H_
