// libFuzzer target: a file of any bytes is decoded, viewed as a plan and built against itself.
// Seeds: tests/frontend/write_nnscaler_plan.py --corpus DIR.
#include <cstddef>
#include <cstdint>
#include <string>

#include "frontend/nnscaler/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace planproof::frontend::nnscaler;
  const absl::StatusOr<Pickle> pickle =
      Pickle::Decode(std::string(reinterpret_cast<const char*>(data), size));
  if (!pickle.ok()) return 0;
  const absl::StatusOr<Plan> plan = ReadPlan(*pickle);
  if (plan.ok()) (void)BuildProblem(*plan, *plan).ok();
  return 0;
}
