// Inputs that nothing reads: probably a name that was meant elsewhere.
#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/program_builder.h"

namespace planproof::plan {

using sdfg::TensorId;

namespace {

constexpr size_t kMaxNames = 6;

std::unordered_set<TensorId> ReadIn(const sdfg::Graph& graph) {
  std::unordered_set<TensorId> read;
  for (const sdfg::Operator& op : graph.operators) read.insert(op.inputs.begin(), op.inputs.end());
  return read;
}

std::string ListOf(const std::vector<std::string>& names) {
  const size_t shown = std::min(kMaxNames, names.size());
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

}  // namespace

void PlanBuilder::WarnOfUnread() {
  std::unordered_set<TensorId> read = ReadIn(problem_.logical);
  for (const lineage::RequiredRelation& required : problem_.required()) {
    read.insert(required.lineage.logical);
  }
  std::vector<std::string> unread;
  for (const TensorDeclaration& declared : specification_.tensors()) {
    // Constants may be there for the plan alone.
    if (declared.role() == ROLE_ONE || declared.role() == ROLE_ZERO) continue;
    if (read.count(logical_.names.at(declared.name())) == 0) unread.push_back(declared.name());
  }
  if (!unread.empty()) {
    problem_.warnings.push_back(
        absl::StrCat("no operator of the specification reads ", ListOf(unread)));
  }
  read = ReadIn(problem_.parallel);
  for (const lineage::RequiredRelation& required : problem_.required()) {
    read.insert(required.parallel);
  }
  for (const auto& state : programs_) {
    unread.clear();
    for (const NamedRelation& input : state->program->inputs()) {
      if (read.count(state->scope.at(input.name())) == 0) unread.push_back(input.name());
    }
    if (unread.empty()) continue;
    problem_.warnings.push_back(
        absl::StrCat("no operator of program \"", state->name, "\" reads ", ListOf(unread)));
  }
}

}  // namespace planproof::plan
