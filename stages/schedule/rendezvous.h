// Matches communication between programs in the order of their schedules.
//
// A program runs until it has to wait. A `move` waits until the tensor it receives is computed; the
// sender does not wait (its send is buffered). Any other operator that reads tensors of several
// programs is a collective among them: everyone waits until all have issued it. Where the operator
// is only started, the operator "wait" does the waiting.
//
// Messages from one program to another arrive in the order in which they are sent, unless they use
// different channels: in that of the sender's steps, within a step in that of the operators which
// compute them. Collectives of one set of programs are issued in one order.
#ifndef PLANPROOF_STAGES_SCHEDULE_RENDEZVOUS_H_
#define PLANPROOF_STAGES_SCHEDULE_RENDEZVOUS_H_

#include <optional>

#include "stages/schedule/step_order.h"

namespace planproof::stages {

// A wait cycle, a collective that a participant does not issue, messages or collectives in
// different orders; UNKNOWN beyond 2^24 communications. `order` has passed CheckOnce.
std::optional<Violation> CheckRendezvous(const StepOrder& order);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_RENDEZVOUS_H_
