#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "frontend/load_problem.h"
#include "report/text_layout.h"
#include "strategy/reader_error.h"

namespace planproof::cli {

int ReportError(const absl::Status& error) {
  std::fprintf(stderr, "planproof: %s\n",
               report::OneLine(std::string(error.message()), 1000).c_str());
  if (frontend::IsUsageError(error)) return kUsageError;
  if (frontend::IsInternalError(error)) return kInternalError;
  return stages::VerdictExitCode(strategy::ResultOfReaderError(error).verdict);
}

}  // namespace planproof::cli
