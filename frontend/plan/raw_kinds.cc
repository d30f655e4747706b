#include "frontend/plan/raw_kinds.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace planproof::plan {
namespace {

using sdfg::AxisKind;
using sdfg::OperatorKind;

// The numbers of the file are those of the types, plus 1.
static_assert(static_cast<int>(AxisKind::kMicrobatch) + 1 == AXIS_MICROBATCH);
static_assert(static_cast<int>(OperatorKind::kAccumulate) + 1 == KIND_ACCUMULATE);
static_assert(static_cast<int>(sdfg::kLastOperatorKind) + 1 == RawOperatorKind_MAX);

OperatorKind KindFromName(const std::string& name) {
  if (name == "exception") return OperatorKind::kRankOverride;
  if (name == "instance") return OperatorKind::kSelectInstance;
  if (name == "replicate") return OperatorKind::kReplicate;
  if (name == "multiple") return OperatorKind::kMultiple;
  if (name == "uninitialised") return OperatorKind::kUninitialised;
  return sdfg::CommunicationFromName(name).value_or(OperatorKind::kCompute);
}

// Older files list a group among the attributes: "0,4,8".
void ReadListedGroup(sdfg::Operator* to) {
  for (auto it = to->attributes.begin(); it != to->attributes.end(); ++it) {
    if (it->first != "ranks") continue;
    for (absl::string_view part : absl::StrSplit(it->second, ',')) {
      int rank = 0;
      if (absl::SimpleAtoi(part, &rank)) to->group.push_back(rank);
    }
    to->attributes.erase(it);
    return;
  }
}

absl::Status Bad(const RawOperator& op, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("operator ", op.name(), " ", what));
}

bool IsOneToOne(const sdfg::Operator& op) {
  return op.inputs.size() == 1 && op.outputs.size() == 1 && op.inputs[0] != sdfg::kNone &&
         op.outputs[0] != sdfg::kNone;
}

}  // namespace

absl::StatusOr<AxisKind> ReadAxisKind(const RawAxis& from) {
  if (from.kind() < 0 || from.kind() > RawAxisKind_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", from.name(), " has an unknown kind"));
  }
  if (from.kind() > 0) return static_cast<AxisKind>(from.kind() - 1);
  return from.name() == "microbatch" ? AxisKind::kMicrobatch
         : from.name() == "copy"     ? AxisKind::kCopy
                                     : AxisKind::kMesh;
}

absl::Status ReadOperatorKind(const RawOperator& from, const sdfg::Graph& graph,
                              sdfg::Operator* to) {
  if (from.kind() < 0 || from.kind() > RawOperatorKind_MAX) {
    return Bad(from, "has an unknown kind");
  }
  to->kind =
      from.kind() > 0 ? static_cast<OperatorKind>(from.kind() - 1) : KindFromName(from.name());
  to->group.assign(from.group().begin(), from.group().end());
  if (from.kind() == 0) ReadListedGroup(to);
  for (const RawAxisCoordinates& part : from.override_at()) {
    if (part.axis() < 0 || part.axis() >= static_cast<int>(graph.axes.size())) {
      return Bad(from, "is an exception along an axis that does not exist");
    }
    sdfg::AxisCoordinates at{part.axis(), {}};
    for (int64_t coordinate : part.coordinates()) {
      if (coordinate < 0 || coordinate >= graph.axes[part.axis()].extent) {
        return Bad(from, "is an exception at a coordinate that does not exist");
      }
      at.coordinates.push_back(coordinate);
    }
    to->override_at.push_back(std::move(at));
  }
  if (to->kind == OperatorKind::kRankOverride && to->inputs.size() != 2) {
    return Bad(from, "is an exception and has not two operands");
  }
  if (to->kind == OperatorKind::kMultiple && !IsOneToOne(*to)) {
    return Bad(from, "is a multiple and has not one operand and one result");
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
