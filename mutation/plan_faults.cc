#include "mutation/plan_faults.h"

#include "absl/strings/str_cat.h"
#include "mutation/whole_plan.h"

namespace planproof::mutation {
namespace {

const PlanFaults& Faults() {
  static const auto* const faults = [] {
    auto* made = new PlanFaults;
    AddCollectiveFaults(made);
    AddGradientFaults(made);
    AddScaleFaults(made);
    AddOperandFaults(made);
    AddUpdateFaults(made);
    return made;
  }();
  return *faults;
}

}  // namespace

std::vector<std::string> PlanKinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, fault] : Faults()) kinds.push_back(kind);
  return kinds;
}

absl::StatusOr<Mutation> MutatePlan(plan::PlanFile* file, const lineage::Problem& problem,
                                    const std::string& kind, uint64_t seed) {
  const auto fault = Faults().find(kind);
  if (fault == Faults().end()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown kind '", kind, "'"));
  }
  PlanEditor editor(file, problem);
  return fault->second(editor, kind, seed);
}

absl::StatusOr<Mutation> MutatePlanFiles(const std::vector<std::string>& files,
                                         const lineage::Problem& problem, const std::string& kind,
                                         uint64_t seed, const std::string& output) {
  absl::StatusOr<plan::PlanFile> whole = ReadWholePlan(files);
  if (!whole.ok()) return whole.status();
  absl::StatusOr<Mutation> result = MutatePlan(&*whole, problem, kind, seed);
  if (!result.ok()) return result;
  const absl::Status written = WriteWholePlan(*whole, output);
  if (!written.ok()) return written;
  return result;
}

}  // namespace planproof::mutation
