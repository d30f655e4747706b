#include "cli/witness_output.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "report/text_layout.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/stage_script.h"
#include "witness/npz_file.h"
#include "witness/witness_file.h"

namespace planproof::cli {
namespace {

constexpr char kArrays[] = ".npz", kPython[] = ".py";

absl::Status WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError(path + ": cannot be written");
}

absl::Status WriteStage(const std::string& path, const lineage::Problem& problem,
                        const stages::Result& result) {
  const auto inputs = runtime_check::InputsOf(*result.witness, problem, sdfg::DType::kFloat64);
  if (!inputs.ok()) return inputs.status();
  const stages::Violation& first = result.violations.front();
  const absl::StatusOr<runtime_check::StageScript> script = runtime_check::WriteStageScript(
      problem, *inputs, first.stage,
      absl::StrCat("Stage ", first.stage, ": ", first.cause.empty() ? first.kind : first.cause));
  if (!script.ok()) return script.status();
  const absl::StatusOr<std::string> bytes = witness::ToNpz(script->arrays);
  if (!bytes.ok()) return bytes.status();
  if (absl::Status status = WriteBytes(path, *bytes); !status.ok()) return status;
  return WriteBytes(std::filesystem::path(path).replace_extension(kPython), script->python);
}

}  // namespace

bool WriteWitness(const std::string& path, const lineage::Problem* problem,
                  const stages::Result& result) {
  if (result.witness == nullptr || problem == nullptr) {
    std::fprintf(stderr, "planproof: --witness-out: no counterexample, %s is not written\n",
                 path.c_str());
    return true;
  }
  const bool script = std::filesystem::path(path).extension() == kArrays;
  const absl::Status status =
      script ? WriteStage(path, *problem, result) : witness::WriteFile(path, *result.witness);
  if (status.ok()) return true;
  const std::string why = report::OneLine(std::string(status.message()), 1000);
  std::fprintf(stderr, "planproof: --witness-out %s: %s%s\n", path.c_str(), why.c_str(),
               script ? "; a name that does not end in .npz takes the inputs of any plan" : "");
  return false;
}

}  // namespace planproof::cli
