// Lists what a plan's programs send to each other, phase by phase.
#ifndef PLANPROOF_STAGES_SCHEDULE_COMMUNICATIONS_H_
#define PLANPROOF_STAGES_SCHEDULE_COMMUNICATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stages/schedule/step_order.h"

namespace planproof::stages {

// What an operator of `program` that reads `tensor` receives: the operand, or what "instance", the
// selection of the sender's devices that match, reads.
sdfg::TensorId SentTensor(const StepOrder& order, sdfg::TensorId tensor, int program);

// A tensor of another program.
struct RemoteTensor {
  sdfg::TensorId tensor = sdfg::kNone;
  bool same = false;  // read for the same microbatch only
};

// A collective that several programs issue.
struct ProgramCollective {
  std::vector<int> programs;  // ascending
  sdfg::OperatorId example = sdfg::kNone;
  size_t Participant(int program) const;
};

// One operator by which a program may come to wait for another one.
struct Communication {
  enum class Kind : uint8_t {
    kReceive,     // "move"
    kCollective,  // a collective between programs
    kWait         // for `ends`, which was started
  };
  Kind kind = Kind::kReceive;
  sdfg::OperatorId op = sdfg::kNone;
  bool varies = false;   // over the microbatch
  bool started = false;  // waits for nobody; a kWait does
  int collective = -1;
  std::vector<RemoteTensor> remote;  // that a kReceive receives
  std::string channel;
  const Communication* ends = nullptr;
};

struct Communications {
  // `order` has passed CheckOnce.
  explicit Communications(const StepOrder& order);
  Communications(const Communications&) = delete;
  Communications& operator=(const Communications&) = delete;

  // By program and phase, in the order of the graph.
  std::vector<std::vector<std::vector<Communication>>> of_phase;
  std::vector<ProgramCollective> collectives;
  // A participant does not issue a collective or reduces in another way, or a result is read
  // although nobody waited for it.
  std::optional<Violation> violation;

 private:
  void Add(const StepOrder& order, sdfg::OperatorId id);
  void LinkWaits(const StepOrder& order);
  void CheckIssued(const StepOrder& order);

  // A collective as its participants know it: operator and operands.
  using Key = std::pair<std::string, std::vector<sdfg::TensorId>>;
  std::map<std::pair<Key, int>, int> numbers_;  // of collectives: a key's first, second, ...
  std::map<std::pair<Key, int>, int> issued_;   // by key and program: how often so far
  std::map<sdfg::TensorId, const lineage::AsyncOperation*> async_operations_;  // by result
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SCHEDULE_COMMUNICATIONS_H_
