#include "report/measure_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

constexpr size_t kMeasuredNameColumns = 44;

}  // namespace

std::string AnswerText(bool alarm, bool color) {
  const char* word = alarm ? "ALARM" : "NO ALARM";
  return color ? absl::StrCat("\033[1;", alarm ? "31" : "32", "m", word, "\033[0m") : word;
}

std::string AnswerRow(const std::string& label, const std::string& value) {
  return value.empty() ? "" : absl::StrFormat("  %-10s %s\n", label, value);
}

std::string IndexText(const std::vector<int64_t>& index) {
  return absl::StrCat("[", absl::StrJoin(index, ","), "]");
}

std::string MeasureTableHead(bool all, const std::string& note) {
  return absl::StrFormat("  %-*s  %9s  %9s  %9s%s%s\n", kMeasuredNameColumns,
                         all ? "tensor" : "tensors that alarm", "error", "expected", "ratio",
                         note.empty() ? "" : "  ", note);
}

std::string MeasureTableRow(const std::string& name, const runtime_check::Measure& measure,
                            double ratio, const std::string& note) {
  return absl::StrFormat("  %-*s  %9.2g  %9.2g  %9.2g%s%s%s\n", kMeasuredNameColumns,
                         OneLine(name, kMeasuredNameColumns), measure.error, measure.expectation,
                         ratio, note.empty() ? "" : "  ", note,
                         measure.defined ? "" : "  not a number");
}

nlohmann::json JsonNumber(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

std::string NotComparedRows(int64_t undefined, int64_t blind, const std::string& side,
                            const std::string& dtype) {
  std::string out;
  if (undefined > 0) {
    out += AnswerRow(
        "undefined",
        absl::StrFormat("%d tensors left out: of the %s's elements some are NaN, or none is finite",
                        undefined, side));
  }
  if (blind > 0) {
    out += AnswerRow("blind", absl::StrFormat("%d tensors hardly could alarm: rounding in %s may "
                                              "change them by as much as they are",
                                              blind, dtype));
  }
  return out;
}

}  // namespace planproof::report
