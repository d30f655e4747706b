#include "planproof/result.h"

#include "report/phrases.h"
#include "strategy/assumed_relations.h"
#include "strategy/verify.h"

namespace planproof {
namespace {

// The two enumerations are listed apart so that neither is bound to the other's order.
Verdict Public(stages::Verdict verdict) {
  switch (verdict) {
    case stages::Verdict::kProved:
      return Verdict::kProved;
    case stages::Verdict::kRefuted:
      return Verdict::kRefuted;
    case stages::Verdict::kMalformed:
      return Verdict::kMalformed;
    case stages::Verdict::kUnknown:
      break;
  }
  return Verdict::kUnknown;
}

stages::Verdict Internal(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return stages::Verdict::kProved;
    case Verdict::kRefuted:
      return stages::Verdict::kRefuted;
    case Verdict::kMalformed:
      return stages::Verdict::kMalformed;
    case Verdict::kUnknown:
      break;
  }
  return stages::Verdict::kUnknown;
}

}  // namespace

const char* VerdictName(Verdict verdict) { return stages::VerdictName(Internal(verdict)); }
int VerdictExitCode(Verdict verdict) { return stages::VerdictExitCode(Internal(verdict)); }

Verdict Result::verdict() const { return Public(wrapped_->verdict); }

Anchor Result::AnchorOutcome() const {
  switch (wrapped_->anchor.outcome) {
    case stages::AnchorOutcome::kAnchored:
      return Anchor::kAnchored;
    case stages::AnchorOutcome::kNotAnchored:
      return Anchor::kNotAnchored;
    case stages::AnchorOutcome::kHeldDiffers:
      return Anchor::kHeldDiffers;
    case stages::AnchorOutcome::kResultsDiffer:
      return Anchor::kResultsDiffer;
    case stages::AnchorOutcome::kTranslationDiffers:
      return Anchor::kTranslationDiffers;
    case stages::AnchorOutcome::kNotRecorded:
      break;
  }
  return Anchor::kNotRecorded;
}

std::string Result::AnchorText() const {
  return wrapped_->anchor.why.empty() ? report::RecordedInWords(*wrapped_) : wrapped_->anchor.why;
}

std::vector<Violation> Result::Violations() const {
  std::vector<Violation> out;
  for (const stages::Violation& from : wrapped_->violations) {
    Violation to;
    to.verdict = Public(from.verdict);
    to.kind = from.kind;
    to.stage = from.stage;
    to.logical_operator = from.logical_operator;
    to.logical_source = from.logical_source;
    to.parallel_operators = from.parallel_operators;
    to.devices = from.devices;
    to.cause = from.cause;
    to.message = from.message;
    out.push_back(std::move(to));
  }
  return out;
}

const std::vector<std::string>& Result::Premises() const { return wrapped_->premises; }
const std::vector<std::string>& Result::Restrictions() const { return wrapped_->restrictions; }
const std::vector<std::string>& Result::Assumptions() const { return wrapped_->assumptions; }
std::vector<std::string> Result::Assumed() const {
  std::vector<std::string> lines;
  for (const stages::AssumedRelation& assumed : wrapped_->assumed)
    lines.push_back(strategy::InWords(assumed));
  return lines;
}

const std::vector<std::string>& Result::Warnings() const { return wrapped_->warnings; }

}  // namespace planproof
