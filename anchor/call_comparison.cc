#include "anchor/call_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "anchor/expected_rounding.h"

namespace planproof::anchor {
namespace {

using frontend::RecordedCall;
using frontend::RecordedProgram;

// Two libraries of mathematical functions differ in their last bits, of which an expression may
// make more: half of the digits are the same in any case.
bool SameNumbers(double value, double other, bool exact) {
  if (exact) return value == other;
  const double half = std::sqrt(RelativeSpacing(sdfg::DType::kFloat64));
  return std::fabs(value - other) <= half * std::max(std::fabs(value), std::fabs(other));
}

stages::RecordedDifference Described(const RecordedProgram& program, const RecordedCall& call,
                                     double expected, const std::string& why) {
  stages::RecordedDifference difference;
  if (program.rank >= 0) difference.ranks = {program.rank};
  difference.tensor = absl::StrCat("what ", call.function, "() gave");
  difference.source = call.place;
  difference.value = NumberText(*call.value, expected);
  difference.expected = NumberText(expected, *call.value);
  difference.text = absl::StrCat(
      "the recording contradicts itself: ",
      program.rank < 0 ? "the reference" : absl::StrCat("rank ", program.rank), " has ",
      difference.value, " as what ", call.function, "(", absl::StrJoin(call.operands, ", "),
      ") gave, for ", call.place, ", and ", why, " ", difference.expected,
      "; a function of numbers of tensors must depend on its arguments alone; if it does, please "
      "report this with the traces and their values");
  return difference;
}

}  // namespace

std::optional<stages::RecordedDifference> CompareCalls(const frontend::Recording& recording) {
  std::map<std::pair<std::string, std::vector<double>>, double> given;
  std::vector<const RecordedProgram*> programs = {&recording.reference};
  for (const RecordedProgram& program : recording.ranks) programs.push_back(&program);
  for (const RecordedProgram* program : programs) {
    for (const RecordedCall& call : program->calls) {
      if (!call.value) continue;
      if (call.meant && !SameNumbers(*call.value, *call.meant, call.exact))
        return Described(*program, call, *call.meant, "by its meaning it gives");
      if (call.operands.empty()) continue;
      const auto [known, fresh] =
          given.emplace(std::make_pair(call.function, call.operands), *call.value);
      if (!fresh && known->second != *call.value)
        return Described(*program, call, known->second, "the same call gave");
    }
  }
  return std::nullopt;
}

}  // namespace planproof::anchor
