#include "strategy/run_journal.h"

#include <cstdlib>
#include <optional>

#include "strategy/assumed_relations.h"

namespace planproof::strategy {
namespace {

constexpr char kFiles[] = "files", kVerdict[] = "verdict", kClasses[] = "classes",
               kClaims[] = "claims";

int64_t Number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

}  // namespace

void JournalOfRun::Begin(int64_t classes, int64_t claims) {
  if (store_ == nullptr) return;
  store_->SetNote(kClasses, std::to_string(classes));
  store_->SetNote(kClaims, std::to_string(claims));
}

void JournalOfRun::Decided(int class_id, int64_t members, const std::string& stage,
                           const stages::ClaimOutcome& outcome) {
  if (store_ == nullptr || outcome.status == stages::ClaimStatus::kAbandoned) return;
  store_->Decided(
      {class_id, members, outcome.status == stages::ClaimStatus::kProved, stage, outcome.reason});
}

void NoteFiles(verdict_cache::Store* store, const std::string& files) {
  store->SetNote(kFiles, files);
  store->SetNote(kVerdict, "");
}

bool IsJournal(verdict_cache::Store* store) {
  if (!store->Note(kFiles).empty()) return true;
  const std::optional<verdict_cache::Store::Statistics> rows = store->Describe();
  return rows.has_value() && rows->rows == 0 && store->AllDecided().empty();
}

void NoteVerdict(verdict_cache::Store* store, const stages::Result& result) {
  store->SetNote(kVerdict, VerdictInWords(result));
}

RunSummary Summarize(verdict_cache::Store* store) {
  RunSummary s;
  s.files = store->Note(kFiles);
  s.verdict = store->Note(kVerdict);
  s.classes = Number(store->Note(kClasses));
  s.claims = Number(store->Note(kClaims));
  for (verdict_cache::DecidedClass& decided : store->AllDecided()) {
    ++s.classes_decided;
    s.claims_decided += decided.members;
    if (decided.proved) {
      ++s.classes_proved;
    } else {
      s.not_proved.push_back(std::move(decided));
    }
  }
  return s;
}

}  // namespace planproof::strategy
