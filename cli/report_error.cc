#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/load_problem.h"
#include "report/text_layout.h"

namespace planproof::cli {

int ReportError(const absl::Status& error, const std::vector<std::string>& files) {
  std::fprintf(stderr, "planproof: %s\n",
               report::OneLine(std::string(error.message()), 1000).c_str());
  if (IsUsageError(error)) return kUsageError;
  if (IsInternalError(error)) return kInternalError;
  return stages::VerdictExitCode(ResultOfReaderError(error, files).verdict);
}

}  // namespace planproof::cli
