#include "stages/reader_error.h"

#include <string>
#include <utility>

namespace planproof::stages {

Result ResultOfReaderError(const absl::Status& error) {
  Violation violation;
  switch (error.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
      violation.verdict = Verdict::kUnknown;
      violation.kind = "not declared";
      break;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      violation.verdict = Verdict::kUnknown;
      violation.kind = "over a limit";
      break;
    default:
      violation.verdict = Verdict::kMalformed;
      violation.kind = "unreadable plan";
  }
  violation.cause = std::string(error.message());
  violation.message = violation.cause;
  Result result;
  result.verdict = violation.verdict;
  result.violations.push_back(std::move(violation));
  return result;
}

}  // namespace planproof::stages
