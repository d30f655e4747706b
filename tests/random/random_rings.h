// Random rings: programs of rounds over travelling pieces, right or with one fault, beside a model
// that knows of no rounds.
#ifndef PLANPROOF_TESTS_RANDOM_RANDOM_RINGS_H_
#define PLANPROOF_TESTS_RANDOM_RANDOM_RINGS_H_

#include <cstdint>
#include <map>
#include <string>

#include "lineage/lineage.h"
#include "stages/verdict.h"

namespace planproof::random_tests {

struct RandomRing {
  uint64_t seed = 0;
  int ranks = 0;
  std::string text;   // of the plan file
  std::string steps;  // "scores, running maximum, rescaled sum, ..."
  std::string fault;  // empty: none was put in
  lineage::Problem problem;
};

// Rings of 8 to 12 ranks, some of them twice (dp 2), pieces of one or two positions. Rounds compute
// scores of rows and pieces, functions of them, maxima carried on, sums, sums rescaled as maxima
// change, sums that travel with the pieces; and what later rounds read of all these. Some scores
// are masked, by -infinity or a number. With `wrong`, an operand is another one, in one round or in
// all, or a piece goes elsewhere.
RandomRing MakeRandomRing(uint64_t seed, bool wrong);

struct RingTrial {
  bool folded = false;     // its rounds were
  std::string difference;  // of the folded form's values and the plan's
  stages::Verdict verdict = stages::Verdict::kUnknown;
  std::string reason;
  bool equal = false;  // by full evaluation, at `samples` inputs
  std::string example;
  double verify_seconds = 0;
  bool FalseProof() const { return verdict == stages::Verdict::kProved && !equal; }
};
// Evaluates it and its folded form, in which the values that stand for anything are what makes
// maxima those of the plan: numbers. If asked to, verifies it, too, without looking for
// counterexamples.
RingTrial TryRandomRing(const RandomRing& ring, int samples, bool verify);

struct RingSummary {
  int rings = 0, false_proofs = 0, differences = 0;
  std::map<std::string, int> counts;  // "folded, different, UNKNOWN"
  void Add(const RingTrial& trial);
  std::string Table() const;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_RANDOM_RINGS_H_
