// The reader of plan files, as the registry knows it.
#include <cstring>

#include "frontend/plan/read_plan.h"
#include "frontend/registry.h"

namespace planproof::plan {
namespace {

// The first byte of a JSON text that is not white space (after a byte-order mark), or 0.
unsigned char FirstVisible(const std::string& text) {
  size_t at = text.rfind("\xef\xbb\xbf", 0) == 0 ? 3 : 0;
  while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr && text[at] != 0) ++at;
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

bool IsJson(const frontend::InputFile& file) { return FirstVisible(file.start) == '{'; }

class PlanFileReader : public frontend::Reader {
 public:
  std::string_view Name() const override { return "plan file (JSON or binary)"; }

  bool Recognises(const frontend::InputFile& file) const override {
    // Field 1 (version) of a plan message comes first.
    return IsJson(file) || (!file.start.empty() && file.start[0] == 0x08) ||
           file.start.find("planproof-plan") != std::string::npos;
  }

  // One file with specification and plan, or one with each of them.
  Files HowMany() const override { return {1, 2, "FILE, or LOGICAL PARALLEL"}; }
  bool LineageCanBeClaimed(const frontend::InputFile& file) const override { return IsJson(file); }

  absl::StatusOr<lineage::Problem> Read(const std::vector<std::string>& paths,
                                        const frontend::ReadOptions& options) const override {
    absl::StatusOr<lineage::Problem> problem = ReadPlan(paths, *options.operators);
    // This reader's word for something that has no declared meaning, a tie rule for example.
    if (absl::IsFailedPrecondition(problem.status())) {
      return absl::UnimplementedError(problem.status().message());
    }
    return problem;
  }
};

}  // namespace

const frontend::Reader& PlanFiles() {
  static const auto* const reader = new PlanFileReader;
  return *reader;
}

}  // namespace planproof::plan
