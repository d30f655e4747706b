#include "report/junit_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "report/markup.h"
#include "report/phrases.h"
#include "report/text_layout.h"
#include "report/text_report.h"
#include "strategy/assumed_relations.h"

namespace planproof::report {
namespace {

using stages::Verdict;
using stages::Violation;

std::string Attribute(const char* name, const std::string& value) {
  return absl::StrCat(" ", name, "=\"", MarkupText(value), "\"");
}

// Test cases, counted.
class Suite {
 public:
  // `place` may be empty.
  void Passed(const std::string& group, const std::string& name,
              const sdfg::SourceLocation& place) {
    Begin(group, name, place);
    text_ += "/>\n";
  }
  void Failed(const std::string& group, const std::string& name, const sdfg::SourceLocation& place,
              const Violation& violation, const std::string& what) {
    const bool unknown = violation.verdict == Verdict::kUnknown;
    ++(unknown ? errors_ : failures_);
    const char* element = unknown ? "error" : "failure";
    Begin(group, name, place);
    absl::StrAppend(&text_, ">\n      <", element, Attribute("message", Headline(violation)),
                    Attribute("type", violation.kind), ">", MarkupText(what), "</", element,
                    ">\n    </testcase>\n");
  }
  void Skipped(const std::string& group, const std::string& name, const sdfg::SourceLocation& place,
               const std::string& why) {
    ++skipped_;
    Begin(group, name, place);
    absl::StrAppend(&text_, ">\n      <skipped", Attribute("message", why),
                    "/>\n    </testcase>\n");
  }

  int tests() const { return tests_; }
  const std::string& text() const { return text_; }
  std::string Counts() const {
    return absl::StrCat(" tests=\"", tests_, "\" failures=\"", failures_, "\" errors=\"", errors_,
                        "\" skipped=\"", skipped_, "\"");
  }

 private:
  void Begin(const std::string& group, const std::string& name, const sdfg::SourceLocation& place) {
    ++tests_;
    absl::StrAppend(&text_, "    <testcase", Attribute("classname", "planproof." + group),
                    Attribute("name", name), " time=\"0.000\"");
    if (!place.file.empty()) absl::StrAppend(&text_, Attribute("file", place.file));
    if (place.line > 0) absl::StrAppend(&text_, " line=\"", place.line, "\"");
  }

  std::string text_;
  int tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
};

void AddOutput(const Report& report, const StageLine& line, Suite* suite) {
  constexpr char kGroup[] = "required";
  switch (line.state) {
    case State::kProved:
      suite->Passed(kGroup, line.required, line.place);
      return;
    case State::kGivenUp:  // a required output is neither
    case State::kNoEffect:
    case State::kAfterFault:
      suite->Skipped(kGroup, line.required, line.place,
                     "not shown, since the plan is refuted" + AfterVerdict(report.result));
      return;
    case State::kRefuted:
    case State::kUnknown:
      break;
  }
  Violation violation;
  violation.verdict = line.state == State::kRefuted ? Verdict::kRefuted : Verdict::kUnknown;
  violation.kind = line.state == State::kRefuted ? "value differs" : "not proved";
  violation.stage = line.stage;
  suite->Failed(kGroup, line.required, line.place, violation,
                line.relation.text + (line.reason.empty() ? "" : "\n" + line.reason));
}

}  // namespace

std::string JunitReport(const Report& report) {
  Suite suite;
  for (const StageLine& line : report.stages) {
    if (!line.required.empty()) AddOutput(report, line, &suite);
  }
  TextOptions all;
  all.verbose = true;
  for (const Violation* violation : WorstFirst(report.result)) {
    const std::vector<sdfg::SourceLocation>& places = violation->parallel_places;
    suite.Failed("finding", Headline(*violation),
                 places.empty() ? violation->logical_place : places[0], *violation,
                 FindingText(*violation, all));
  }
  if (suite.tests() == 0) suite.Passed("required", "every required output", sdfg::SourceLocation());
  const std::string name = absl::StrJoin(report.files, " ");
  const std::string time = absl::StrCat(" time=\"", Seconds(report.result.time_s.total), "\"");
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"planproof\"", suite.Counts(),
      time, ">\n  <testsuite", Attribute("name", name.empty() ? "plan" : name), suite.Counts(),
      time, ">\n    <properties>\n");
  const auto property = [&xml](const char* key, const std::string& value) {
    absl::StrAppend(&xml, "      <property", Attribute("name", key), Attribute("value", value),
                    "/>\n");
  };
  property("verdict", strategy::VerdictInWords(report.result));
  property("engine", report.result.engine);
  property("version", report.version);
  for (const std::string& premise : report.result.premises) property("premise", premise);
  for (const std::string& assumption : report.result.assumptions)
    property("assumption", assumption);
  for (const std::string& assumed : AssumedInWords(report.result)) property("assumed", assumed);
  absl::StrAppend(&xml, "    </properties>\n", suite.text());
  return xml + "  </testsuite>\n</testsuites>\n";
}

}  // namespace planproof::report
