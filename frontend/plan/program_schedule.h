// Reads the order in which a program runs, as the plan file states it: phases of its operators, the
// steps of its schedule, handles of collectives that are started and waited for.
#ifndef PLANPROOF_FRONTEND_PLAN_PROGRAM_SCHEDULE_H_
#define PLANPROOF_FRONTEND_PLAN_PROGRAM_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/plan.pb.h"
#include "lineage/schedule.h"

namespace planproof::plan {

struct ProgramPhases {
  std::vector<std::string> names;
  std::vector<int32_t> of_operator;  // into names
};

// Where a handle is started and waited for, as operator numbers.
struct HandleUse {
  int start = -1;
  int wait = -1;
};

using OperatorPosition = std::function<Position(int)>;

// The phases that the operators are labelled with. A program without schedule has one phase, whose
// name is empty. InvalidArgument: an operator of a scheduled program belongs to no phase.
absl::StatusOr<ProgramPhases> PhasesOf(const Program& program, const OperatorPosition& where);

// Every handle is started once and waited for once, later in the list; InvalidArgument otherwise,
// with both places.
absl::StatusOr<std::map<std::string, HandleUse>> HandlesOf(const Program& program,
                                                           const OperatorPosition& where);

// The steps of the program's schedule with ranges and loops written out; none without a schedule.
// `budget` is the number of steps and rounds of loops that remain; it is reduced.
absl::StatusOr<std::vector<lineage::ScheduleStep>> StepsOf(const Program& program,
                                                           const ProgramPhases& phases,
                                                           int64_t microbatches, const Position& at,
                                                           int64_t* budget);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_PROGRAM_SCHEDULE_H_
