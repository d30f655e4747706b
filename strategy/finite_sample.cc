#include "strategy/finite_sample.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shape_reduction/replay.h"
#include "strategy/aside.h"

namespace planproof::strategy {

using shape_reduction::Sample;

namespace {

constexpr double kSampleSeconds = 15;
constexpr int kSampleAttempts = 16;

}  // namespace

bool HasFiniteSample(const lineage::Problem& problem, const stages::VerifyOptions& options,
                     stages::Result* result) {
  const double seconds = std::min(kSampleSeconds, options.stage_timeout_s);
  const Aside searching{
      "search for a sample", seconds,
      [&] { return ToBytes(shape_reduction::FindSample(problem, kSampleAttempts, seconds)); }};
  const std::vector<stages::TaskOutcome> done = RunAside(options, {searching}, result);
  Sample sample;
  if (!Take(done[0], "the search for a sample", options, &sample, result)) {
    sample.outcome = Sample::Outcome::kExhausted;
    sample.message = done[0].reason;
  }
  if (sample.outcome == Sample::Outcome::kFound) return true;
  stages::Violation v;
  v.verdict = stages::Verdict::kUnknown;
  v.kind = "premises have no common sample";
  v.message = absl::StrCat(
      sample.outcome == Sample::Outcome::kExhausted
          ? "every claim is shown, but whether the premises can hold together was not tested"
          : "every claim is shown, but no inputs were found for which all premises hold and all "
            "required outputs are finite",
      sample.message.empty() ? "" : ": ", sample.message);
  result->violations.push_back(std::move(v));
  return false;
}

}  // namespace planproof::strategy
