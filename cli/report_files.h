// Writes reports into files.
#ifndef PLANPROOF_CLI_REPORT_FILES_H_
#define PLANPROOF_CLI_REPORT_FILES_H_

#include <string>
#include <vector>

#include "stages/result.h"

namespace CLI {
class App;
}

namespace planproof::cli {

// Paths; "-" is standard output, empty: not asked for.
struct ReportFiles {
  std::string json, html, sarif, junit;

  bool Any() const { return !json.empty() || !html.empty() || !sarif.empty() || !junit.empty(); }
  // One of them is standard output, so that the text is not written there.
  bool TakeOutput() const { return json == "-" || html == "-" || sarif == "-" || junit == "-"; }
};

void AddReportOptions(CLI::App* command, ReportFiles* files);

// Two reports for one file; says so on standard error.
bool Collide(const ReportFiles& files);

struct ReportText {
  std::string path, text;
};
// What goes into each of the files that are asked for. `inputs` as the user named them.
std::vector<ReportText> ReportTexts(const ReportFiles& files, const stages::Result& result,
                                    const std::vector<std::string>& inputs);

// Writes them; false, with a message on standard error, if one cannot be written.
bool WriteReports(const std::vector<ReportText>& reports);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_REPORT_FILES_H_
