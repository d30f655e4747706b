#include "stages/schedule/rendezvous.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "stages/schedule/communications.h"
#include "stages/schedule/shared_memory.h"

namespace planproof::stages {
namespace {

using lineage::Place;
using sdfg::TensorId;

constexpr int64_t kMaxEvents = int64_t{1} << 24;
constexpr int kNobody = -1;
constexpr size_t kMaxPrintedSteps = 6;

// Where a program is: it has run everything before communication `next` of step `step`, of which
// `instance` microbatches are done if the phase runs once.
struct Reached {
  int64_t step = 0;
  size_t next = 0;
  int64_t instance = 0;
  bool finished = false;
};

// When a message is sent, among those of its sender.
struct SendOrder {
  int64_t step = 0;
  sdfg::OperatorId op = sdfg::kNone;  // that computes the tensor
  int32_t output = 0;
  int64_t instance = 0;  // the microbatch, in a step for all of them
  friend bool operator<(const SendOrder& a, const SendOrder& b) {
    return std::tie(a.step, a.op, a.output, a.instance) <
           std::tie(b.step, b.op, b.output, b.instance);
  }
};

struct Message {
  SendOrder sent;
  const Communication* receive = nullptr;
  int64_t microbatch = -1;
  int64_t step = 0;  // of the receiver
};

class Walk {
 public:
  Walk(const StepOrder& order, const Communications& communications)
      : order_(order),
        all_(communications),
        memory_(order, Views::kAsStated),
        programs_(order.problem().schedule.programs.size()),
        waiters_(programs_.size()),
        queued_(programs_.size(), false) {
    const int64_t instances = order.microbatches() + 1;
    for (const ProgramCollective& collective : all_.collectives) {
      arrived_.emplace_back(instances * collective.programs.size(), false);
      count_.emplace_back(instances, 0);
    }
  }

  std::optional<Violation> Run() {
    for (size_t p = programs_.size(); p-- > 0;) Enqueue(static_cast<int>(p));
    while (!queue_.empty() && !violation_) {
      const int p = queue_.back();
      queue_.pop_back();
      queued_[p] = false;
      if (!Advance(p)) continue;
      for (int waiter : std::exchange(waiters_[p], {})) Enqueue(waiter);
    }
    if (violation_) return violation_;
    for (size_t p = 0; p < programs_.size(); ++p) {
      if (!programs_[p].finished) return Cycle(static_cast<int>(p));
    }
    return CheckOrders();
  }

 private:
  void Enqueue(int program) {
    if (queued_[program]) return;
    queued_[program] = true;
    queue_.push_back(program);
  }

  const std::vector<Communication>& InStep(int p, int64_t step) const {
    return all_.of_phase[p][order_.Steps(p)[step].phase];
  }

  // How often the communication happens in the step, and for which microbatch first.
  std::pair<int64_t, int64_t> Instances(int p, int64_t step, const Communication& c) const {
    const lineage::ScheduleStep& at = order_.Steps(p)[step];
    const Place place{p, at.phase};
    if (at.microbatch == lineage::kAllMicrobatches) {
      return {c.varies ? order_.microbatches() : 1, c.varies ? 0 : -1};
    }
    if (c.varies) return {1, at.microbatch};
    return {order_.First(place) == step ? 1 : 0, -1};
  }

  // Runs the program until it waits. True if it came anywhere.
  bool Advance(int p) {
    Reached& at = programs_[p];
    bool moved = false;
    while (!at.finished && !violation_) {
      if (at.step == static_cast<int64_t>(order_.Steps(p).size())) {
        at.finished = true;
        return true;
      }
      const std::vector<Communication>& here = InStep(p, at.step);
      if (at.next == here.size()) {
        at = {at.step + 1, 0, 0, false};
        moved = true;
        continue;
      }
      const Communication& c = here[at.next];
      const auto [count, first] = Instances(p, at.step, c);
      if (at.instance == count) {
        ++at.next;
        at.instance = 0;
        moved = true;
        continue;
      }
      const int64_t microbatch = first < 0 ? -1 : first + at.instance;
      if (!Perform(p, c, microbatch)) return moved;
      ++at.instance;
      moved = true;
    }
    return moved;
  }

  // False: the program waits.
  bool Perform(int p, const Communication& c, int64_t microbatch) {
    if (c.kind == Communication::Kind::kCollective) {
      Arrive(p, c, microbatch);
      return c.started || HaveMet(c, microbatch);
    }
    if (c.kind == Communication::Kind::kReceive) {
      if (!c.started && !WaitForSender(p, c, microbatch)) return false;
      CheckMessages(p, c, microbatch);
      return true;
    }
    return c.ends->kind == Communication::Kind::kCollective ? HaveMet(*c.ends, microbatch)
                                                            : WaitForSender(p, *c.ends, microbatch);
  }

  // The last step and microbatch in which what the communication reads is computed.
  std::pair<int64_t, int64_t> Sent(const RemoteTensor& remote, int64_t microbatch) const {
    const Place place = order_.PlaceOf(remote.tensor);
    if (!order_.Varies(remote.tensor)) return {order_.First(place), 0};
    if (remote.same && microbatch >= 0) {
      return {order_.Position(place, microbatch), order_.Once(place) ? microbatch : 0};
    }
    return {order_.Last(place), order_.Once(place) ? order_.microbatches() - 1 : 0};
  }

  bool IsComputed(const RemoteTensor& remote, int64_t microbatch) const {
    const Place place = order_.PlaceOf(remote.tensor);
    const Reached& owner = programs_[place.program];
    if (place.phase == sdfg::kNone || owner.finished) return true;
    const auto [step, instance] = Sent(remote, microbatch);
    const std::vector<Communication>& here = InStep(place.program, owner.step);
    const sdfg::OperatorId blocked = owner.next < here.size()
                                         ? here[owner.next].op
                                         : std::numeric_limits<sdfg::OperatorId>::max();
    const sdfg::OperatorId producer = order_.problem().parallel.tensors[remote.tensor].producer;
    return std::make_tuple(step, producer, instance) <
           std::make_tuple(owner.step, blocked, owner.instance);
  }

  bool WaitForSender(int p, const Communication& c, int64_t microbatch) {
    for (const RemoteTensor& remote : c.remote) {
      if (IsComputed(remote, microbatch)) continue;
      waiters_[order_.PlaceOf(remote.tensor).program].push_back(p);
      return false;
    }
    return true;
  }

  size_t Slot(const Communication& c, size_t participant, int64_t microbatch) const {
    return (microbatch + 1) * all_.collectives[c.collective].programs.size() + participant;
  }

  void Arrive(int p, const Communication& c, int64_t microbatch) {
    const ProgramCollective& collective = all_.collectives[c.collective];
    const size_t participant = collective.Participant(p);
    if (arrived_[c.collective][Slot(c, participant, microbatch)]) return;
    arrived_[c.collective][Slot(c, participant, microbatch)] = true;
    issued_[{collective.programs, p}].emplace_back(c.collective, microbatch);
    if (++count_[c.collective][microbatch + 1] < static_cast<int>(collective.programs.size()))
      return;
    for (int other : collective.programs) {
      if (other != p) Enqueue(other);
    }
  }

  // The last one to arrive wakes the others.
  bool HaveMet(const Communication& c, int64_t microbatch) const {
    return count_[c.collective][microbatch + 1] ==
           static_cast<int>(all_.collectives[c.collective].programs.size());
  }

  const sdfg::Operator& OperatorOf(const Communication& c) const {
    return order_.problem().parallel.operators[c.op];
  }

  std::string What(int p, const Communication& c, int64_t microbatch, int64_t step) const {
    return absl::StrCat(order_.OperatorText(OperatorOf(c)),
                        microbatch < 0 ? "" : absl::StrCat(" of microbatch ", microbatch), " in ",
                        order_.StepText(p, step));
  }

  // A program sends what it has computed at once: in the order of steps, within a step in that of
  // operators, of one operator in that of its outputs, of one output in that of microbatches.
  // Inputs that are overwritten some time are sent before anything runs.
  SendOrder SentWhen(const RemoteTensor& remote, int64_t microbatch) const {
    const sdfg::Tensor& tensor = order_.problem().parallel.tensors[remote.tensor];
    if (tensor.producer == sdfg::kNone) {
      const bool one = remote.same && order_.Varies(remote.tensor);
      return {-1, sdfg::kNone, remote.tensor, one ? microbatch : 0};
    }
    const auto [step, instance] = Sent(remote, microbatch);
    return {step, tensor.producer, tensor.producer_output, instance};
  }

  std::string SentText(int sender, const Message& message) const {
    if (message.sent.op == sdfg::kNone) return "the start (an input)";
    return absl::StrCat(order_.OperatorText(order_.problem().parallel.operators[message.sent.op]),
                        " in ", order_.StepText(sender, message.sent.step));
  }

  void CheckMessages(int p, const Communication& c, int64_t microbatch) {
    for (const RemoteTensor& remote : c.remote) {
      const Place place = order_.PlaceOf(remote.tensor);
      // When any other input is sent is left to the runtime, which keeps to the receiver's order.
      if (place.phase == sdfg::kNone && memory_.RegionOf(remote.tensor) == nullptr) continue;
      const Message message{SentWhen(remote, microbatch), &c, microbatch, programs_[p].step};
      const auto [last, fresh] = messages_.try_emplace({place.program, p, c.channel}, message);
      if (!fresh && message.sent < last->second.sent && !violation_) {
        Cross(p, place.program, last->second, message);
      }
      last->second = message;
    }
  }

  void Cross(int p, int sender, const Message& first, const Message& second) {
    const sdfg::Operator& a = OperatorOf(*first.receive);
    const sdfg::Operator& b = OperatorOf(*second.receive);
    const bool same = first.receive->op == second.receive->op;
    violation_ = OrderViolation(
        "messages cross",
        absl::StrCat("program \"", order_.ProgramName(p), "\" receives messages of \"",
                     order_.ProgramName(sender), "\" in another order than they are sent"),
        absl::StrCat(What(p, *first.receive, first.microbatch, first.step), " is received before ",
                     What(p, *second.receive, second.microbatch, second.step),
                     ", but sent after it, by ", SentText(sender, first), " and ",
                     SentText(sender, second),
                     same ? ""
                          : "; receive them in the other order, or give the moves different "
                            "channels if their messages are kept apart"));
    Concerns(b, &*violation_);
    if (!same) Concerns(a, &*violation_);
  }

  // For whom the program waits.
  int WaitsFor(int p, std::string* what) const {
    const Reached& at = programs_[p];
    const Communication& c = InStep(p, at.step)[at.next];
    const auto [count, first] = Instances(p, at.step, c);
    const int64_t microbatch = first < 0 ? -1 : first + at.instance;
    *what = What(p, c, microbatch, at.step);
    const Communication& waited = c.ends != nullptr ? *c.ends : c;
    if (waited.kind == Communication::Kind::kReceive) {
      for (const RemoteTensor& remote : waited.remote) {
        if (!IsComputed(remote, microbatch)) return order_.PlaceOf(remote.tensor).program;
      }
      return kNobody;
    }
    const ProgramCollective& collective = all_.collectives[waited.collective];
    for (size_t i = 0; i < collective.programs.size(); ++i) {
      if (!arrived_[waited.collective][Slot(waited, i, microbatch)]) return collective.programs[i];
    }
    return kNobody;
  }

  Violation Cycle(int start) const {
    std::vector<int> path;
    int p = start;
    std::string what;
    while (p != kNobody && !programs_[p].finished &&
           std::find(path.begin(), path.end(), p) == path.end()) {
      path.push_back(p);
      p = WaitsFor(p, &what);
    }
    const bool ends = p == kNobody || programs_[p].finished;
    if (!ends) path.erase(path.begin(), std::find(path.begin(), path.end(), p));
    std::string programs;
    std::string text;
    for (size_t i = 0; i < path.size() && i < kMaxPrintedSteps; ++i) {
      const int next = WaitsFor(path[i], &what);
      absl::StrAppend(&programs, i == 0 ? "" : ", ", "\"", order_.ProgramName(path[i]), "\"");
      absl::StrAppend(
          &text, i == 0 ? "" : "; ", "program \"", order_.ProgramName(path[i]), "\" waits in ",
          what, " for ",
          next == kNobody ? "nobody" : absl::StrCat("\"", order_.ProgramName(next), "\""));
    }
    if (path.size() > kMaxPrintedSteps) {
      absl::StrAppend(&text, "; and ", path.size() - kMaxPrintedSteps, " more");
      absl::StrAppend(&programs, " and ", path.size() - kMaxPrintedSteps, " more");
    }
    if (ends) absl::StrAppend(&text, ", which ends without taking part");
    Violation violation =
        OrderViolation("wait cycle", absl::StrCat("wait cycle of programs ", programs),
                       absl::StrCat("wait cycle: ", text));
    for (int waiting : path) {
      const Reached& at = programs_[waiting];
      Concerns(OperatorOf(InStep(waiting, at.step)[at.next]), &violation);
    }
    return violation;
  }

  // Collectives that nobody waits for at once may have been issued in different orders.
  std::optional<Violation> CheckOrders() const {
    const std::vector<int>* programs = nullptr;
    const std::vector<std::pair<int, int64_t>>* first = nullptr;
    for (const auto& [key, sequence] : issued_) {
      if (programs == nullptr || *programs != key.first) {
        programs = &key.first;
        first = &sequence;
        continue;
      }
      const auto [a, b] =
          std::mismatch(first->begin(), first->end(), sequence.begin(), sequence.end());
      if (a == first->end() || b == sequence.end()) continue;
      const auto example =
          [this](const std::pair<int, int64_t>& collective) -> const sdfg::Operator& {
        return order_.problem().parallel.operators[all_.collectives[collective.first].example];
      };
      const auto text = [&](const std::pair<int, int64_t>& collective) {
        return absl::StrCat(order_.OperatorText(example(collective)),
                            collective.second < 0 ? "" : " of microbatch ",
                            collective.second < 0 ? "" : absl::StrCat(collective.second));
      };
      const std::string who = absl::StrCat("programs \"", order_.ProgramName((*programs)[0]),
                                           "\" and \"", order_.ProgramName(key.second), "\"");
      Violation violation = OrderViolation(
          "wait cycle", absl::StrCat("wait cycle: ", who, " issue collectives in different order"),
          absl::StrCat(who, " issue ", text(*a), " and ", text(*b), " in different order"));
      Concerns(example(*a), &violation);
      Concerns(example(*b), &violation);
      return violation;
    }
    return std::nullopt;
  }

  const StepOrder& order_;
  const Communications& all_;
  const SharedMemory memory_;
  std::vector<Reached> programs_;
  std::vector<std::vector<int>> waiters_;  // by the program that they wait for
  std::vector<bool> queued_;
  std::vector<int> queue_;
  // By collective: whether a participant has issued it for a microbatch (0: none), and how many
  // have.
  std::vector<std::vector<bool>> arrived_;
  std::vector<std::vector<int>> count_;
  std::map<std::tuple<int, int, std::string>, Message> messages_;  // last one received
  // By participants and one of them: collectives and microbatches in order of issue.
  std::map<std::pair<std::vector<int>, int>, std::vector<std::pair<int, int64_t>>> issued_;
  std::optional<Violation> violation_;
};

// Communications of all steps, microbatches multiplied out.
int64_t CountEvents(const StepOrder& order, const Communications& communications) {
  int64_t events = 0;
  for (size_t p = 0; p < communications.of_phase.size(); ++p) {
    for (const lineage::ScheduleStep& step : order.Steps(static_cast<int>(p))) {
      const auto count = static_cast<int64_t>(communications.of_phase[p][step.phase].size());
      const bool all = step.microbatch == lineage::kAllMicrobatches;
      events += 1 + count * (all ? order.microbatches() : 1);
      if (events > kMaxEvents) return events;
    }
  }
  return events + static_cast<int64_t>(communications.collectives.size()) * order.microbatches();
}

}  // namespace

std::optional<Violation> CheckRendezvous(const StepOrder& order) {
  Communications communications(order);
  if (communications.violation.has_value()) return communications.violation;
  if (CountEvents(order, communications) > kMaxEvents) {
    Violation violation;
    violation.kind = "over a limit";
    violation.cause = "more than 2^24 communications between programs; their order was not checked";
    violation.message = violation.cause;
    return violation;
  }
  return Walk(order, communications).Run();
}

}  // namespace planproof::stages
