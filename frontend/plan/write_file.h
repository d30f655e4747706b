// Writes files that are there whole or not at all.
#ifndef PLANPROOF_FRONTEND_PLAN_WRITE_FILE_H_
#define PLANPROOF_FRONTEND_PLAN_WRITE_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace planproof::plan {

// Writes the file beside its place and moves it there, so that no reader ever finds half of it and
// a file that was there stays if this fails. What is no regular file (a pipe, a device) is written
// directly. NotFound with the path and the system's reason.
absl::Status WriteFile(const std::string& path, const std::string& content);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_WRITE_FILE_H_
