#include "strategy/reader_error.h"

#include <string>
#include <utility>

namespace planproof::strategy {

stages::Result ResultOfReaderError(const absl::Status& error) {
  stages::Violation violation;
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
      violation.verdict = stages::Verdict::kUnknown;
      violation.kind = "not declared";
      break;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      violation.verdict = stages::Verdict::kUnknown;
      violation.kind = "over a limit";
      break;
    default:
      violation.verdict = stages::Verdict::kMalformed;
      violation.kind = "unreadable plan";
  }
  violation.cause = std::string(error.message());
  violation.message = violation.cause;
  stages::Result result;
  result.verdict = violation.verdict;
  result.violations.push_back(std::move(violation));
  return result;
}

}  // namespace planproof::strategy
