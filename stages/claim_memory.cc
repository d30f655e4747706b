#include "stages/claim_memory.h"

#include <optional>

#include "stages/engine_version.h"
#include "stages/workers/outcome_bytes.h"
#include "verdict_cache/fingerprint.h"

namespace planproof::stages {
namespace {

// What the bytes mean; another meaning is another content.
constexpr char kMeaning[] = "claim proved without unfolding, by normal form, 3";

// Premises are texts with names of tensors in them: they are taken over only where the names are
// the same.
bool NamesMatter(const ClaimOutcome& outcome) { return !outcome.premises.empty(); }

// With conditions of the plan that do not follow from the claim it is none in every model.
bool IsProof(const ClaimOutcome& outcome) {
  return outcome.status == ClaimStatus::kProved && !outcome.unsatisfiable &&
         outcome.restrictions.empty();
}

std::string WithNames(const std::string& content, const std::string& names) {
  return "n" + content + names;
}

}  // namespace

void ClaimMemory::SetClaims(const std::vector<const Claim*>& claims) {
  contents_.clear();
  names_.clear();
  for (const Claim* claim : claims) {
    std::string content = keys_.ContentOf(*claim);
    if (!content.empty()) content = kMeaning + content;
    contents_.push_back(std::move(content));
    names_.push_back(keys_.LogicalNames());
  }
}

void ClaimMemory::Recall(std::vector<ClaimOutcome>* outcomes) {
  outcomes->assign(contents_.size(), ClaimOutcome{});
  for (verdict_cache::Store* store : stores_) {
    for (const bool with_names : {false, true}) RecallFrom(store, with_names, outcomes);
  }
}

// Of the claims that are still open: most proofs do not depend on names.
void ClaimMemory::RecallFrom(verdict_cache::Store* store, bool with_names,
                             std::vector<ClaimOutcome>* outcomes) {
  std::vector<std::string> wanted;
  std::vector<size_t> claim_of;
  for (size_t k = 0; k < contents_.size(); ++k) {
    if (contents_[k].empty() || IsProof((*outcomes)[k])) continue;
    wanted.push_back(with_names ? WithNames(contents_[k], names_[k]) : contents_[k]);
    claim_of.push_back(k);
  }
  const std::vector<std::optional<std::string>> found = store->Find(wanted);
  for (size_t i = 0; i < found.size(); ++i) {
    ClaimOutcome outcome;
    if (!found[i] || !FromBytes(*found[i], &outcome) || !IsProof(outcome)) continue;
    if (NamesMatter(outcome) == with_names) (*outcomes)[claim_of[i]] = std::move(outcome);
  }
}

void ClaimMemory::Remember(size_t claim, const ClaimOutcome& outcome) {
  if (contents_[claim].empty() || !IsProof(outcome) || outcome.method == ProofMethod::kUnfolded)
    return;
  ClaimOutcome proof = outcome;
  proof.evaluate_s = 0;
  const std::string& content = contents_[claim];
  for (verdict_cache::Store* store : stores_) {
    store->Add(NamesMatter(proof) ? WithNames(content, names_[claim]) : content, ToBytes(proof));
  }
}

std::string ClaimMemory::Fingerprint() const {
  std::string all = EngineVersion();
  for (size_t k = 0; k < contents_.size(); ++k)
    all += verdict_cache::FingerprintOf({contents_[k], names_[k]}).Bytes();
  return verdict_cache::FingerprintOf({all}).Bytes();
}

}  // namespace planproof::stages
