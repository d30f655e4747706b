#include "monitor/learned/statements.h"

#include "absl/strings/str_cat.h"

namespace planproof::monitor::learned {
namespace {

std::string InPhase(const std::string& phase) {
  return phase.empty() ? "" : absl::StrCat(" (", phase, ")");
}

std::string Evidence(const Fact& fact, int references) {
  return absl::StrCat(" (", fact.support, " times in ", references,
                      references == 1 ? " reference)" : " references)");
}

}  // namespace

std::string SubjectOf(const Fact& fact) {
  switch (fact.form) {
    case Form::kWithin:
    case Form::kGiven:
    case Form::kBefore:
      return fact.other;
    default:
      return fact.subject;
  }
}

std::string StatementOf(const Fact& fact, int references, std::string_view found) {
  const std::string evidence = Evidence(fact, references);
  const std::string subject = absl::StrCat(fact.subject, InPhase(fact.phase));
  const std::string other = absl::StrCat(fact.other, InPhase(fact.other_phase));
  switch (fact.form) {
    case Form::kWithin:
      return absl::StrCat(other, " is called in each step that calls ", subject, evidence,
                          ", and is missing here");
    case Form::kEquals:
      return absl::StrCat(fact.other, " of ", subject, " is ", fact.value, evidence, ", and is ",
                          std::string(found), " here");
    case Form::kAtEnd:
      return absl::StrCat(fact.other, " at the ", fact.subject, " is ", fact.value, evidence,
                          ", and is ", std::string(found), " here");
    case Form::kGiven:
      return absl::StrCat(subject, " is always given ", fact.other, evidence, ", and is not here");
    case Form::kSame:
      return absl::StrCat(subject, " and ", fact.other, " have the same content after each step",
                          evidence, ", and differ here");
    case Form::kReplica:
      return absl::StrCat(subject, " is the same in all processes", evidence, ", and differs here");
    case Form::kBefore:
      return absl::StrCat(subject, " is called before ", other, evidence, ", and after it here");
    case Form::kChanges:
      return absl::StrCat("each step that trains ", subject, " changes it", evidence,
                          ", and does not here");
  }
  return "";
}

}  // namespace planproof::monitor::learned
