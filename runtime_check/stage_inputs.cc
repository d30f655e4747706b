#include "runtime_check/stage_inputs.h"

#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dumps/safetensors_file.h"
#include "runtime_check/dump_matching.h"
#include "runtime_check/dumped_values.h"
#include "runtime_check/held_parts.h"
#include "runtime_check/positions.h"
#include "sdfg/status_macros.h"

namespace planproof::runtime_check {
namespace {

using RankTensors = std::map<std::string, dumps::TensorBytes>;

// The part of a whole, times the factor.
Values CutOut(const Values& whole, const HeldPart& part, double factor) {
  Values values = whole;
  values.shape = part.shape;
  const int64_t count = CountOf(part.shape);
  values.integers.resize(values.integers.empty() ? 0 : count);
  values.doubles.resize(values.doubles.empty() ? 0 : count);
  values.floats.resize(values.floats.empty() ? 0 : count);
  ForEachPosition(part.map, whole.shape, part.shape, [&](int64_t i, int64_t at) {
    values.Copy(i, whole, at);
    if (factor != 1) values.Set(i, values.At(i) * factor);
  });
  return values;
}

absl::Status CutTensor(const dumps::DumpedRank& run, const dumps::Dump& candidate,
                       const dumps::Annotations& annotations, const MatchedTensor& tensor,
                       const Mesh& mesh, std::vector<RankTensors>* out) {
  const dumps::TensorType& type = run.file->tensors().at(tensor.name);
  PLAN_ASSIGN_OR_RETURN(const Division division,
                        DivisionOf(tensor, mesh, type.shape.size(), annotations));
  if (!division.partial.empty()) return absl::OkStatus();
  std::vector<Held> held;
  std::map<int, std::string> names;
  for (const MatchedTensor::Holder& holder : tensor.holders) {
    held.push_back(
        {holder.rank, candidate.ranks[holder.rank].file->tensors().at(holder.name).shape});
    names[holder.rank] = holder.name;
  }
  const Parts parts = PartsOf(division, mesh, held, type.shape);
  if (parts.finding != DumpFinding::kNone) return absl::OkStatus();  // a comparison says it
  PLAN_ASSIGN_OR_RETURN(const std::string bytes, run.file->Read(tensor.name));
  const Values whole = DecodedValues(type, bytes);
  for (const HeldPart& part : parts.parts)
    (*out)[part.ranks[0]][names[part.ranks[0]]] =
        EncodedValues(CutOut(whole, part, division.factor));
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteStageInputs(const dumps::ReferenceDump& reference, const dumps::Dump& candidate,
                              const dumps::Annotations& annotations, const std::string& directory) {
  PLAN_ASSIGN_OR_RETURN(const Matching matching, MatchDumps(reference.run, candidate, annotations));
  std::vector<RankTensors> ranks(candidate.ranks.size());
  size_t inputs = 0;
  for (const MatchedTensor& tensor : matching.tensors) {
    const dumps::TensorKind kind = dumps::KindOf(tensor.name);
    if (kind != dumps::TensorKind::kInput && kind != dumps::TensorKind::kBackward) continue;
    PLAN_RETURN_IF_ERROR(
        CutTensor(reference.run.ranks[0], candidate, annotations, tensor, matching.mesh, &ranks));
    inputs += kind == dumps::TensorKind::kInput;
  }
  if (inputs == 0) {
    return absl::FailedPreconditionError(
        "the dumps have no inputs of modules: dump both with inputs=True");
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string name = absl::StrCat("rank", rank, ".safetensors");
    PLAN_RETURN_IF_ERROR(
        dumps::WriteSafetensors((std::filesystem::path(directory) / name).string(), ranks[rank]));
  }
  return absl::OkStatus();
}

}  // namespace planproof::runtime_check
