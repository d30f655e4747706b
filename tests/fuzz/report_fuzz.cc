// Whatever a JSON report holds: an error, or a report that is written as it was read, and that all
// formats can show.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report/html/html_report.h"
#include "report/json_report.h"
#include "report/junit_report.h"
#include "report/sarif_report.h"
#include "report/stage_text.h"
#include "report/text_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace report = planproof::report;
  const auto read = report::ReadJsonReport(std::string(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  const std::string written = report::JsonReport(*read);
  const auto again = report::ReadJsonReport(written);
  if (!again.ok() || report::JsonReport(*again) != written) std::abort();
  if (report::TextReport(read->result).empty()) std::abort();
  if (!read->stages.empty() && !report::StageText(*read, read->stages[0].stage).ok()) std::abort();
  (void)report::HtmlReport(*read);
  (void)report::SarifReport(*read);
  (void)report::JunitReport(*read);
  return 0;
}
