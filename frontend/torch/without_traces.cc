// In builds of the prover alone (PLANPROOF_PROVER_ONLY): traces are recognised, and not read.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "frontend/torch/trace_format.h"

namespace planproof::frontend::torch {
namespace {

class NoTraceReader : public TraceFormat {
 public:
  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const ReadOptions&) const override {
    return absl::UnimplementedError(
        absl::StrCat(paths[0],
                     ": a PyTorch trace, and this program is the prover alone (`make demo`); build "
                     "the whole with `make`"));
  }
};

}  // namespace

const Reader& Traces() {
  static const auto* const reader = new NoTraceReader;
  return *reader;
}

}  // namespace planproof::frontend::torch
