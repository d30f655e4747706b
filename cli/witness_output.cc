#include "cli/witness_output.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "report/text_layout.h"
#include "runtime_check/executor.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "runtime_check/stage_script.h"
#include "witness/npz_file.h"
#include "witness/witness_file.h"

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

absl::Status WriteStage(const std::string& path, const lineage::Problem& problem,
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

}  // namespace

bool IsStageScript(const std::string& path) {
  return std::filesystem::path(path).extension() == ".npz";
}

bool WriteWitness(const std::string& path, const lineage::Problem* problem,
                  const stages::Result& result) {
  if (result.witness == nullptr || problem == nullptr) {
    std::fprintf(stderr, "planproof: --witness-out: no counterexample, %s is not written\n",
                 path.c_str());
    return true;
  }
  const absl::Status status = IsStageScript(path) ? WriteStage(path, *problem, result)
                                                  : witness::WriteFile(path, *result.witness);
  if (status.ok()) return true;
  // Of a plan for which there can be no script the verdict is still to be printed.
  const bool no_script = IsStageScript(path) && !absl::IsUnavailable(status);
  const std::string why = report::OneLine(std::string(status.message()), 1000);
  std::fprintf(stderr, "planproof: --witness-out %s: %s%s\n", path.c_str(), why.c_str(),
               no_script ? "; it is not written: a name that does not end in .npz takes the inputs "
                           "of a plan of any size"
                         : "");
  return no_script;
}

}  // namespace planproof::cli
