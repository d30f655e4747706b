// Determines the order in which the devices of a plan execute, and whether they can.
//
// Every device runs its cells in order; communication blocks until all its participants have
// arrived. Walking all devices together gives one global order of events that is consistent with
// every device's order, or a wait cycle.
#ifndef PLANPROOF_FRONTEND_NNSCALER_SCHEDULE_H_
#define PLANPROOF_FRONTEND_NNSCALER_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/nnscaler/plan_objects.h"

namespace planproof::frontend::nnscaler {

struct Event {
  int device = 0;
  int microbatch = 0;            // how often the cell ran on this device before
  int node = kNoIndex;           // in Plan::nodes
  int prim = kNoIndex;           // of an adapter; prims.size() marks the adapter's end
  int communication = kNoIndex;  // in Schedule::communications; this device's arrival
};

// One execution of a collective, a move or a weight reducer.
struct Communication {
  std::vector<int> participants;  // devices in the order of the group
  std::vector<Event> arrivals;    // one per participant, same order
};

struct Schedule {
  int microbatches = 1;
  // Every device executes the same cells, in the same order, for each microbatch.
  bool uniform = true;
  // A communication's effects hold after its last arrival.
  std::vector<Event> events;
  std::vector<Communication> communications;
};

// InvalidArgument: a participant is missing or disagrees, a device waits in a cycle, ranks that the
// plan does not have.
absl::StatusOr<Schedule> MakeSchedule(const Plan& plan);

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_SCHEDULE_H_
