// libFuzzer target: a file of any bytes is decoded, viewed as a plan, paired with itself and with a
// single-device plan (both roles), and decided as far as it goes. Seeds:
// tests/frontend/write_nnscaler_plan.py --corpus DIR.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "frontend/nnscaler/reader.h"
#include "tests/fuzz/decide_problem.h"

namespace {

using namespace planproof::frontend::nnscaler;

absl::StatusOr<Plan> PlanOf(const std::string& bytes) {
  const absl::StatusOr<Pickle> pickle = Pickle::Decode(bytes);
  if (!pickle.ok()) return pickle.status();
  return ReadPlan(*pickle);
}

const Plan& SingleDevicePlan() {
  static const Plan* const plan = [] {
    std::ifstream file(PLANPROOF_SOURCE_DIR "/tests/fuzz/single_device_plan.pkl", std::ios::binary);
    absl::StatusOr<Plan> read = PlanOf(
        std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()));
    if (!read.ok()) std::abort();
    return new Plan(*std::move(read));
  }();
  return *plan;
}

void Decide(const Plan& logical, const Plan& parallel) {
  const auto problem = BuildProblem(logical, parallel);
  if (problem.ok()) planproof::fuzz::DecideProblem(*problem);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<Plan> plan = PlanOf(std::string(reinterpret_cast<const char*>(data), size));
  if (!plan.ok()) return 0;
  Decide(SingleDevicePlan(), *plan);
  Decide(*plan, *plan);
  return 0;
}
