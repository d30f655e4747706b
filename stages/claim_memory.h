// Remembers proofs of claims between runs.
//
// What is stored is a statement: "for all values of the logical tensors, if the related inputs are
// what their lineages say, this definition equals that one, under these premises". The content of a
// class (class_key.h) says all of it up to names, and the statement stays true in whatever plan it
// is met again. What makes a claim useful is not stored and is established in every run anew: which
// claims it rests on (and that they are proved), the signs and ranges of logical tensors (they are
// part of the content), premises of definitions that no claim evaluates, a sample that meets all
// premises.
//
// Only proofs are stored. A claim that failed, was abandoned, or has a premise that can never hold
// is decided again, so that no memory hides a later success, and what is refuted is refuted by
// numbers found in this run. A claim that needed unfolding rests on more than its content and is
// not stored.
#ifndef PLANPROOF_STAGES_CLAIM_MEMORY_H_
#define PLANPROOF_STAGES_CLAIM_MEMORY_H_

#include <string>
#include <vector>

#include "stages/claim.h"
#include "stages/class_key.h"
#include "stages/relations.h"
#include "verdict_cache/store.h"

namespace planproof::stages {

class ClaimMemory {
 public:
  // Reads the relations as they are now. Stores are asked in order; all are told.
  ClaimMemory(const lineage::Problem& problem, const Relations& relations,
              std::vector<verdict_cache::Store*> stores)
      : keys_(problem, relations), stores_(std::move(stores)) {}

  // The claims that Recall and Remember are about.
  void SetClaims(const std::vector<const Claim*>& claims);
  // Sets the outcomes of those claims that are remembered; the others stay undecided.
  void Recall(std::vector<ClaimOutcome>* outcomes);
  // Stores the outcome of a claim that was decided without unfolding, if it is a proof.
  void Remember(size_t claim, const ClaimOutcome& outcome);
  // Of the contents of all claims and the engine: equal in processes that may share the work.
  std::string Fingerprint() const;

 private:
  void RecallFrom(verdict_cache::Store* store, bool with_names,
                  std::vector<ClaimOutcome>* outcomes);
  ClassKeys keys_;
  std::vector<verdict_cache::Store*> stores_;
  std::vector<std::string> contents_;  // empty: too deep to write down
  std::vector<std::string> names_;     // of logical tensors
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_CLAIM_MEMORY_H_
