// Records what a run has decided, class by class, for people who want to know after it was
// interrupted. The proofs themselves are remembered beside it (claim_memory.h); this list is never
// believed.
#ifndef PLANPROOF_STAGES_WORKERS_RUN_JOURNAL_H_
#define PLANPROOF_STAGES_WORKERS_RUN_JOURNAL_H_

#include <cstdint>
#include <string>

#include "stages/proof_search.h"
#include "stages/result.h"
#include "verdict_cache/store.h"

namespace planproof::stages {

class JournalOfRun : public FirstRoundObserver {
 public:
  // With a null store nothing is written.
  explicit JournalOfRun(verdict_cache::Store* store) : store_(store) {}

  void Begin(int64_t classes, int64_t claims) override;
  void Decided(int class_id, int64_t members, const std::string& stage,
               const ClaimOutcome& outcome) override;

 private:
  verdict_cache::Store* store_;
};

// As read back.
struct RunSummary {
  std::string files;    // as the run was asked for them
  std::string verdict;  // empty: the run did not end
  int64_t classes = 0, claims = 0;
  int64_t classes_decided = 0, claims_decided = 0, classes_proved = 0;
  std::vector<verdict_cache::DecidedClass> not_proved;
};

void NoteFiles(verdict_cache::Store* store, const std::string& files);
// Whether the store is a journal, or holds nothing yet. A cache is a file of the same kind, and has
// no run of which it is the journal.
bool IsJournal(verdict_cache::Store* store);
void NoteVerdict(verdict_cache::Store* store, const Result& result);
RunSummary Summarize(verdict_cache::Store* store);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_RUN_JOURNAL_H_
