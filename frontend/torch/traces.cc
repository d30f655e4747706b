// The reader of PyTorch traces, as the registry knows it: a reference and the traces of all ranks.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/registry.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

// The ranks' traces, rank 0 first.
absl::StatusOr<std::vector<Trace>> ReadRanks(const std::vector<std::string>& paths) {
  std::vector<Trace> ranks;
  for (size_t i = 1; i < paths.size(); ++i) {
    PLAN_ASSIGN_OR_RETURN(ranks.emplace_back(), ReadTrace(paths[i]));
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const Trace& a, const Trace& b) { return a.rank < b.rank; });
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].world != static_cast<int32_t>(ranks.size())) {
      return absl::InvalidArgumentError(absl::StrCat(ranks[r].path, ": is a trace of one of ",
                                                     ranks[r].world, " ranks, and ", ranks.size(),
                                                     " traces are given; give all of them"));
    }
    if (ranks[r].rank != static_cast<int32_t>(r)) {
      return absl::InvalidArgumentError(absl::StrCat(ranks[r].path, ": two traces of rank ",
                                                     ranks[r].rank, " are given; give each once"));
    }
  }
  return ranks;
}

class TraceReader : public Reader {
 public:
  std::string_view Name() const override { return "PyTorch trace"; }
  // gzip, and the ending.
  bool Recognises(const InputFile& file) const override {
    return file.path.ends_with(".trace") && file.start.size() > 2 && file.start[0] == '\x1f' &&
           file.start[1] == '\x8b';
  }
  Files HowMany() const override { return {2, 1 + (1 << 16), "REFERENCE.trace RANK.trace..."}; }
  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const ReadOptions& options) const override {
    PLAN_ASSIGN_OR_RETURN(const Trace reference, ReadTrace(paths[0]));
    PLAN_ASSIGN_OR_RETURN(const std::vector<Trace> ranks, ReadRanks(paths));
    return ProblemOfTraces(reference, ranks, *options.operators);
  }
};

}  // namespace

const Reader& Traces() {
  static const auto* const reader = new TraceReader;
  return *reader;
}

}  // namespace planproof::frontend::torch
