#include "cli/stage_script_output.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "runtime_check/stage_script.h"
#include "witness/npz_file.h"

namespace planproof::cli {
namespace {

constexpr char kPython[] = ".py";

absl::Status WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError(path + ": cannot be written");
}

using Names = std::map<std::pair<std::string, int64_t>, sdfg::TensorId>;

// By name, and number among the tensors of that name.
Names NamesOf(const sdfg::Graph& graph) {
  Names names;
  std::map<std::string, int64_t> seen;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const std::string& name = graph.tensors[t].name;
    names[{name, seen[name]++}] = static_cast<sdfg::TensorId>(t);
  }
  return names;
}

// What was proved of tensors, as far as there are tensors of these names: it may be of a form of
// the plan in which ranks are folded.
std::vector<runtime_check::StageBoundary> BoundariesOf(
    const lineage::Problem& problem, const std::vector<stages::ProvedRelation>& proved) {
  const Names parallel = NamesOf(problem.parallel), logical = NamesOf(problem.logical);
  std::vector<runtime_check::StageBoundary> boundaries;
  for (const stages::ProvedRelation& relation : proved) {
    const auto made = parallel.find({relation.tensor, relation.number});
    const auto model = logical.find({relation.logical, relation.logical_number});
    if (made == parallel.end() || model == logical.end() || relation.factor != 1) continue;
    boundaries.push_back({made->second, model->second, relation.map});
  }
  return boundaries;
}

}  // namespace

absl::Status WriteStageScript(const std::string& path, const lineage::Problem& problem,
                              const stages::Result& result) {
  runtime_check::Programs programs;
  const runtime_check::ReplayOptions limits;
  absl::Status fits = runtime_check::CheckLimits(problem, limits, &programs);
  if (!fits.ok()) return fits;
  const auto inputs = runtime_check::InputsOf(*result.witness, problem, sdfg::DType::kFloat64);
  if (!inputs.ok()) return inputs.status();
  const absl::StatusOr<lineage::Problem> more = runtime_check::WithConfirmed(
      problem, BoundariesOf(problem, result.proved_relations), *inputs, &programs);
  if (!more.ok()) return more.status();
  const stages::Violation& first = result.violations.front();
  const absl::StatusOr<runtime_check::StageScript> script = runtime_check::WriteStageScript(
      *more, *inputs, first.stage,
      absl::StrCat("Stage ", first.stage, ": ", first.cause.empty() ? first.kind : first.cause),
      &programs);
  if (!script.ok()) return script.status();
  const absl::StatusOr<std::string> bytes = witness::ToNpz(script->arrays);
  if (!bytes.ok()) return bytes.status();
  if (absl::Status status = WriteBytes(path, *bytes); !status.ok()) return status;
  return WriteBytes(std::filesystem::path(path).replace_extension(kPython), script->python);
}

}  // namespace planproof::cli
