#include "anchor/withdrawal.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::anchor {
namespace {

using stages::AnchorOutcome;
using stages::Result;
using stages::Verdict;
using stages::Violation;

Violation Finding(Verdict verdict, std::string kind, const std::string& text) {
  Violation violation;
  violation.verdict = verdict;
  violation.kind = std::move(kind);
  violation.cause = text;
  violation.message = text;
  return violation;
}

// Nothing that was proved or refuted of the graphs is said of the programs.
void Forget(Result* result) {
  std::erase_if(result->violations, [](const Violation& violation) {
    return violation.verdict != Verdict::kMalformed;
  });
  result->proved_relations.clear();
  result->required_shown.assign(result->required_shown.size(), false);
  result->witness = nullptr;
  result->confirmations.clear();
  result->account = nullptr;
}

void Withdraw(Violation reason, Result* result) {
  Forget(result);
  result->violations.push_back(std::move(reason));
  if (result->verdict != Verdict::kMalformed) result->verdict = Verdict::kUnknown;
}

// A proof is not given, and everything else stays.
void Refuse(Violation reason, Result* result) {
  result->violations.push_back(std::move(reason));
  if (result->verdict == Verdict::kProved) result->verdict = Verdict::kUnknown;
}

}  // namespace

void ApplyAnchor(anchor::AnchorComparison comparison, bool require, Result* result) {
  result->anchor = std::move(comparison.report);
  const stages::AnchorReport& anchor = result->anchor;
  switch (anchor.outcome) {
    case AnchorOutcome::kNotRecorded:
    case AnchorOutcome::kAnchored:
      return;
    case AnchorOutcome::kNotAnchored: {
      if (result->verdict == Verdict::kMalformed) return;
      const std::string text = absl::StrCat("not anchored: ", anchor.why);
      result->assumptions.push_back(
          absl::StrCat(text,
                       "; so what was read of the programs, and what ranks are said to hold, "
                       "is not compared with recorded numbers"));
      if (require && result->verdict != Verdict::kUnknown) {
        Withdraw(Finding(Verdict::kUnknown, "not anchored", text), result);
      }
      return;
    }
    case AnchorOutcome::kHeldDiffers:
      // A wrong graph makes wrong states in the steps before the recorded one.
      if (comparison.may_follow_from_graphs && result->verdict == Verdict::kRefuted) return;
      Forget(result);
      for (const stages::RecordedDifference& difference : anchor.differences) {
        Violation violation = Finding(Verdict::kMalformed, "held differs", difference.text);
        if (!difference.usual.empty()) violation.message = difference.usual;
        violation.devices.assign(difference.ranks.begin(), difference.ranks.end());
        result->violations.push_back(std::move(violation));
      }
      result->verdict = Verdict::kMalformed;
      return;
    case AnchorOutcome::kResultsDiffer:
      if (result->verdict == Verdict::kProved)
        Refuse(Finding(Verdict::kUnknown, "recorded results differ", anchor.text), result);
      return;
    case AnchorOutcome::kTranslationDiffers: {
      Violation violation = Finding(Verdict::kUnknown, "not understood", anchor.text);
      violation.devices.assign(anchor.differences[0].ranks.begin(),
                               anchor.differences[0].ranks.end());
      violation.logical_source = anchor.differences[0].source;
      Withdraw(std::move(violation), result);
      return;
    }
  }
}

}  // namespace planproof::anchor
