#include "strategy/attempt_log.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "stages/elapsed.h"

namespace planproof::strategy {

namespace {

using stages::Attempt;

Attempt::Stopped WhyItStopped(const stages::Result& result, const stages::VerifyOptions& options) {
  switch (result.verdict) {
    case stages::Verdict::kProved:
      return Attempt::Stopped::kProved;
    case stages::Verdict::kRefuted:
      return Attempt::Stopped::kRefuted;
    case stages::Verdict::kMalformed:
      return Attempt::Stopped::kMalformed;
    case stages::Verdict::kUnknown:
      break;
  }
  if (Stopped(options)) return Attempt::Stopped::kInterrupted;
  if (result.stages.late > 0) return Attempt::Stopped::kOutOfTime;
  if (result.stages.oversized > 0) return Attempt::Stopped::kOutOfMemory;
  if (result.stages.limited > 0) return Attempt::Stopped::kOutOfWork;
  return Attempt::Stopped::kNotShown;
}

}  // namespace

void RecordAnswer(const RunContext& context, Attempt attempt,
                  std::chrono::steady_clock::time_point start, const stages::Result& result) {
  if (context.attempts == nullptr) return;
  attempt.form = context.form;
  attempt.work = context.options.work_limit;
  attempt.seconds = context.options.stage_timeout_s;
  attempt.spent_s = stages::Since(start);
  attempt.claims = result.stages.total;
  attempt.proved = result.stages.proved;
  attempt.stopped = WhyItStopped(result, context.options);
  context.attempts->push_back(attempt);
}

void RecordStep(const RunContext& context, Attempt attempt,
                std::chrono::steady_clock::time_point start) {
  if (context.attempts == nullptr) return;
  attempt.form = context.form;
  attempt.spent_s = stages::Since(start);
  attempt.stopped =
      Stopped(context.options) ? Attempt::Stopped::kInterrupted : Attempt::Stopped::kDone;
  context.attempts->push_back(attempt);
}

const char* NameOf(Attempt::Form form) {
  switch (form) {
    case Attempt::Form::kRoundsFolded:
      return "rounds folded";
    case Attempt::Form::kRanksFolded:
      return "ranks folded";
    case Attempt::Form::kAsRead:
      return "as read";
  }
  return "";
}

const char* NameOf(Attempt::Relations relations) {
  switch (relations) {
    case Attempt::Relations::kStated:
      return "stated relations";
    case Attempt::Relations::kInferred:
      return "inferred relations";
    case Attempt::Relations::kRequired:
      return "inferred and required relations";
    case Attempt::Relations::kWithoutGuesses:
      return "inferred relations without guesses";
  }
  return "";
}

const char* NameOf(Attempt::Method method) {
  switch (method) {
    case Attempt::Method::kInfer:
      return "infer";
    case Attempt::Method::kClaims:
      return "decide claims";
    case Attempt::Method::kGlance:
      return "decide claims, glance at numbers";
    case Attempt::Method::kProve:
      return "prove";
    case Attempt::Method::kProveOrCompare:
      return "prove, compare where first numbers differ";
    case Attempt::Method::kRefute:
      return "prove, refute";
    case Attempt::Method::kAll:
      return "prove, refute, prove for long";
    case Attempt::Method::kUnwritten:
      return "look for unwritten memory";
    case Attempt::Method::kFirstNumbers:
      return "compare first numbers";
  }
  return "";
}

const char* NameOf(Attempt::Stopped stopped) {
  switch (stopped) {
    case Attempt::Stopped::kProved:
      return "proved";
    case Attempt::Stopped::kRefuted:
      return "refuted";
    case Attempt::Stopped::kMalformed:
      return "malformed";
    case Attempt::Stopped::kNotShown:
      return "not shown";
    case Attempt::Stopped::kOutOfWork:
      return "out of work";
    case Attempt::Stopped::kOutOfTime:
      return "out of time";
    case Attempt::Stopped::kOutOfMemory:
      return "out of memory";
    case Attempt::Stopped::kInterrupted:
      return "interrupted";
    case Attempt::Stopped::kDone:
      return "done";
  }
  return "";
}

std::string InWords(const Attempt& attempt) {
  std::string text = absl::StrCat(NameOf(attempt.form), ", ", NameOf(attempt.relations));
  if (attempt.inference > 0) absl::StrAppend(&text, " (", attempt.inference, ")");
  absl::StrAppend(&text, ": ", NameOf(attempt.method));
  if (attempt.work > 0) {
    absl::StrAppendFormat(&text, " with work %.4g, at most %.4g s a claim", attempt.work,
                          attempt.seconds);
  }
  absl::StrAppendFormat(&text, "; %.3f s", attempt.spent_s);
  if (attempt.claims > 0) {
    absl::StrAppend(&text, ", ", attempt.proved, " of ", attempt.claims, " claims");
  }
  absl::StrAppend(&text, "; ", NameOf(attempt.stopped));
  return text;
}

}  // namespace planproof::strategy
