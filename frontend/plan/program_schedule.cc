#include "frontend/plan/program_schedule.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "frontend/plan/index_expression.h"
#include "frontend/plan/remedies.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr char kMicrobatches[] = "microbatches";
constexpr size_t kMaxLoops = 8;

// Writes out ranges and loops.
class Expansion {
 public:
  Expansion(const Program& program, const ProgramPhases& phases, int64_t microbatches,
            const Position& at, int64_t* budget)
      : program_(program), phases_(phases), microbatches_(microbatches), at_(at), budget_(*budget) {
    for (size_t i = 0; i < phases.names.size(); ++i) {
      numbers_.emplace(phases.names[i], static_cast<int32_t>(i));
    }
  }

  absl::StatusOr<std::vector<lineage::ScheduleStep>> Run() {
    PLAN_RETURN_IF_ERROR(Items(program_.schedule(), at_.pointer + "/schedule"));
    return std::move(steps_);
  }

 private:
  absl::Status Items(const google::protobuf::RepeatedPtrField<ScheduleItem>& items,
                     const std::string& pointer) {
    for (int i = 0; i < items.size(); ++i) {
      const Position at{at_.file, items[i].line(), absl::StrCat(pointer, "/", i)};
      PLAN_RETURN_IF_ERROR(items[i].variable().empty() ? Step(items[i], at) : Loop(items[i], at));
    }
    return absl::OkStatus();
  }

  absl::Status Spend(const Position& at) {
    if (--budget_ >= 0) return absl::OkStatus();
    return At(at, absl::ResourceExhaustedError("the schedules of a plan have more than 2^20 steps "
                                               "(a limit of this program)"));
  }

  absl::Status Step(const ScheduleItem& item, const Position& at) {
    const auto phase = numbers_.find(item.phase());
    if (phase == numbers_.end()) {
      return At(at, absl::StrCat("no operator begins a phase \"", item.phase(), "\"",
                                 DidYouMean(item.phase(), phases_.names)));
    }
    if (item.microbatch().empty()) {
      PLAN_RETURN_IF_ERROR(Spend(at));
      steps_.push_back({phase->second, lineage::kAllMicrobatches});
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(const int64_t first, Value(item.microbatch(), at));
    int64_t end = first + 1;
    if (!item.until().empty()) {
      PLAN_ASSIGN_OR_RETURN(end, Value(item.until(), at));
    }
    if (first < 0 || end > microbatches_) {
      const int64_t outside = first < 0 ? first : std::max(first, microbatches_);
      return At(at, absl::StrCat("\"", item.phase(), "\" of microbatch ", outside, ": there are ",
                                 microbatches_, " microbatches, numbered from 0"));
    }
    for (int64_t m = first; m < end; ++m) {
      PLAN_RETURN_IF_ERROR(Spend(at));
      steps_.push_back({phase->second, static_cast<int32_t>(m)});
    }
    return absl::OkStatus();
  }

  absl::Status Loop(const ScheduleItem& item, const Position& at) {
    const std::string& name = item.variable();
    if (NamesIn(name) != std::vector<std::string>{name}) {
      return At(at, absl::StrCat("\"", name, "\" is no name of a loop variable, e.g. \"i\" is"));
    }
    if (name == kMicrobatches || variables_.count(name) > 0) {
      return At(at, absl::StrCat("the loop variable \"", name, "\" has a meaning already"));
    }
    if (variables_.size() == kMaxLoops) {
      return At(at, sdfg::BeyondLimit("depth of loops", kMaxLoops + 1, kMaxLoops));
    }
    PLAN_ASSIGN_OR_RETURN(const int64_t from, Value(item.from(), at));
    PLAN_ASSIGN_OR_RETURN(const int64_t to, Value(item.to(), at));
    for (int64_t i = from; i < to; ++i) {
      PLAN_RETURN_IF_ERROR(Spend(at));
      variables_[name] = i;
      PLAN_RETURN_IF_ERROR(Items(item.body(), at.pointer + "/do"));
    }
    variables_.erase(name);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Value(const std::string& text, const Position& at) const {
    const NameResolver resolve = [this](const std::string& name) -> std::optional<NameMeaning> {
      if (name == kMicrobatches) return NameMeaning{microbatches_, -1};
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return NameMeaning{found->second, -1};
    };
    absl::StatusOr<lineage::IndexMap> value = ParseIndexExpression(text, resolve);
    if (!value.ok()) {
      return At(at, absl::StrCat("\"", text, "\": "), value.status());
    }
    return value->constant;
  }

  const Program& program_;
  const ProgramPhases& phases_;
  const int64_t microbatches_;
  const Position& at_;
  int64_t& budget_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::map<std::string, int64_t> variables_;
  std::vector<lineage::ScheduleStep> steps_;
};

}  // namespace

absl::StatusOr<ProgramPhases> PhasesOf(const Program& program, const OperatorPosition& where) {
  ProgramPhases phases;
  if (program.schedule_size() == 0) {
    phases.names = {""};
    phases.of_operator.assign(program.operators_size(), 0);
    return phases;
  }
  std::unordered_map<std::string, int32_t> numbers;
  int32_t current = -1;
  for (int i = 0; i < program.operators_size(); ++i) {
    const std::string& name = program.operators(i).phase();
    if (name.find(':') != std::string::npos) {
      return At(where(i), absl::StrCat("\"", name, "\": the name of a phase holds no colon"));
    }
    if (!name.empty()) {
      const auto [at, fresh] = numbers.emplace(name, static_cast<int32_t>(phases.names.size()));
      if (fresh) phases.names.push_back(name);
      current = at->second;
    }
    if (current < 0) {
      return At(where(i),
                "the program has a schedule, so each operator belongs to a phase; begin the first "
                "one here (\"phase\": \"F0\")");
    }
    phases.of_operator.push_back(current);
  }
  return phases;
}

absl::StatusOr<std::map<std::string, HandleUse>> HandlesOf(const Program& program,
                                                           const OperatorPosition& where) {
  std::map<std::string, HandleUse> handles;
  for (int i = 0; i < program.operators_size(); ++i) {
    const Operator& op = program.operators(i);
    if (!op.async().empty()) {
      const auto [at, fresh] = handles.try_emplace(op.async());
      if (!fresh) {
        return At(where(i),
                  absl::StrCat("handle \"", op.async(), "\" is started twice, here and at ",
                               where(at->second.start).Text()));
      }
      at->second.start = i;
    }
    if (op.op() != kWait) continue;
    if (op.inputs_size() == 0 || op.outputs_size() > 0 || !op.backward().empty()) {
      return At(where(i), "a wait has handles under \"in\", and no \"out\"");
    }
    for (const Operand& operand : op.inputs()) {
      const auto at = handles.find(operand.tensor());
      if (operand.kind_case() != Operand::kTensor || at == handles.end()) {
        return At(where(i), absl::StrCat("waits for \"", operand.tensor(),
                                         "\", which no operator before it starts (\"async\")"));
      }
      if (at->second.wait >= 0) {
        return At(where(i), absl::StrCat("handle \"", operand.tensor(), "\" is waited for twice, ",
                                         "here and at ", where(at->second.wait).Text()));
      }
      at->second.wait = i;
    }
  }
  for (const auto& [name, use] : handles) {
    if (use.wait >= 0) continue;
    return At(where(use.start),
              absl::StrCat("handle \"", name, "\" is started here and never waited for, up to the ",
                           "last operator at ", where(program.operators_size() - 1).Text(),
                           "; add {\"op\": \"wait\", \"in\": \"", name, "\"}"));
  }
  return handles;
}

absl::StatusOr<std::vector<lineage::ScheduleStep>> StepsOf(const Program& program,
                                                           const ProgramPhases& phases,
                                                           int64_t microbatches, const Position& at,
                                                           int64_t* budget) {
  return Expansion(program, phases, microbatches, at, budget).Run();
}

}  // namespace planproof::plan
