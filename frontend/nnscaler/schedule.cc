#include "frontend/nnscaler/schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/nnscaler/prims.h"

namespace planproof::frontend::nnscaler {
namespace {

// What the participants of one communication agree on. `ordinal` counts equal communications of one
// device in one microbatch.
struct CommunicationKey {
  int64_t what = 0;  // adapter's or reducer's cell id; tensor id of a move
  bool move = false;
  int microbatch = 0;
  int ordinal = 0;
  std::vector<int> participants;
  friend bool operator==(const CommunicationKey&, const CommunicationKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const CommunicationKey& key) {
    return H::combine(std::move(h), key.what, key.move, key.microbatch, key.ordinal,
                      key.participants);
  }
};

// Steps of all devices and microbatches, group members counted.
constexpr int64_t kMaxSteps = int64_t{1} << 24;

class Scheduler {
 public:
  explicit Scheduler(const Plan& plan) : plan_(plan) {}

  absl::StatusOr<Schedule> Run() {
    NumberMicrobatches();
    absl::Status status = CheckNodes();
    for (size_t d = 0; d < plan_.sequences.size() && status.ok(); ++d) {
      status = Unroll(static_cast<int>(d));
    }
    if (status.ok()) status = CheckMatched();
    if (status.ok()) status = Walk();
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  bool IsReducer(const Cell& cell) const {
    const std::vector<int>& body = plan_.bodies[cell.body];
    return body.size() == 1 && plan_.nodes[body[0]].kind == NodeKind::kReducer;
  }

  void NumberMicrobatches() {
    occurrence_.resize(plan_.sequences.size());
    std::vector<std::vector<std::vector<int>>> bodies(plan_.sequences.size());
    for (size_t d = 0; d < plan_.sequences.size(); ++d) {
      absl::flat_hash_map<int64_t, int> seen;
      for (const Cell& cell : plan_.sequences[d].cells) {
        const int k = seen[cell.id]++;
        occurrence_[d].push_back(k);
        if (IsReducer(cell)) continue;
        result_.microbatches = std::max(result_.microbatches, k + 1);
        if (static_cast<int>(bodies[d].size()) <= k) bodies[d].resize(k + 1);
        bodies[d][k].push_back(cell.body);
      }
    }
    for (const auto& device : bodies) {
      result_.uniform = result_.uniform &&
                        (device.empty() || static_cast<int>(device.size()) == result_.microbatches);
      for (const auto& microbatch : device) {
        result_.uniform = result_.uniform && microbatch == device[0];
      }
    }
  }

  absl::Status CheckNodes() {
    const int devices = static_cast<int>(plan_.devices.size());
    for (const Node& node : plan_.nodes) {
      for (const Prim& prim : node.prims) {
        std::vector<int> ranks = prim.ranks;
        if (prim.kind == PrimKind::kMove) ranks = {prim.source, prim.destination};
        if (prim.kind == PrimKind::kBroadcast) ranks.push_back(prim.source);
        if (prim.kind == PrimKind::kReduce) ranks.push_back(prim.destination);
        for (int rank : ranks) {
          if (rank < 0 || rank >= devices) {
            return absl::InvalidArgumentError(
                absl::StrCat(prim.class_name, " of ", node.Label(), ": rank ", rank,
                             " is no device of the plan, which has 0 to ", devices - 1));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Unroll(int d) {
    const int device = plan_.sequences[d].device;
    std::vector<Event>& program = programs_.emplace_back();
    absl::flat_hash_map<CommunicationKey, int> ordinals;
    for (size_t c = 0; c < plan_.sequences[d].cells.size(); ++c) {
      for (int n : plan_.bodies[plan_.sequences[d].cells[c].body]) {
        const Node& node = plan_.nodes[n];
        if (!node.devices.empty() && node.kind != NodeKind::kReducer &&
            std::find(node.devices.begin(), node.devices.end(), device) == node.devices.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat(node.Label(), " stands in the sequence of device ", device,
                           " but belongs to device ", absl::StrJoin(node.devices, ", ")));
        }
        if (++steps_ > kMaxSteps) return TooLong();
        Event event{device, occurrence_[d][c], n, kNoIndex, kNoIndex};
        CommunicationKey key{node.id, false, event.microbatch, 0, {}};
        if (node.kind == NodeKind::kReducer) {
          key.participants = node.devices;
          absl::Status status = Join(key, event, node.name, ordinals);
          if (!status.ok()) return status;
        }
        program.push_back(event);
        if (node.kind != NodeKind::kAdapter) continue;
        program.pop_back();
        for (int p : RunningOrder(node)) {
          const Prim& prim = node.prims[p];
          event.prim = p;
          event.communication = kNoIndex;
          absl::StatusOr<ResolvedPrim> resolved = ResolvePrim(node, p);
          if (!resolved.ok()) return resolved.status();
          const bool local =
              resolved->kind == PrimKind::kChunk || resolved->kind == PrimKind::kIdentity;
          if (!local) {
            key = {node.id, false, event.microbatch, 0, resolved->participants};
            if (resolved->kind == PrimKind::kMove) {
              key.what =
                  plan_.subs[resolved->inputs.empty() ? resolved->outputs[0] : resolved->inputs[0]]
                      .id;
              key.move = true;
            }
            absl::Status status = Join(key, event, prim.class_name, ordinals);
            if (!status.ok()) return status;
          }
          program.push_back(event);
        }
        event.prim = static_cast<int>(node.prims.size());
        event.communication = kNoIndex;
        program.push_back(event);
      }
    }
    return absl::OkStatus();
  }

  static absl::Status TooLong() {
    return absl::ResourceExhaustedError(
        absl::StrCat("the plan has more than ", kMaxSteps, " steps"));
  }

  absl::Status Join(CommunicationKey key, Event& event, const std::string& what,
                    absl::flat_hash_map<CommunicationKey, int>& ordinals) {
    steps_ += static_cast<int64_t>(key.participants.size());
    if (steps_ > kMaxSteps) return TooLong();
    const auto self = std::find(key.participants.begin(), key.participants.end(), event.device);
    if (self == key.participants.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, " of ", plan_.nodes[event.node].Label(), " on device ", event.device,
          " names the ranks ", absl::StrJoin(key.participants, ", "), ", not this device"));
    }
    const size_t position = self - key.participants.begin();
    key.ordinal = ordinals[key]++;
    const auto [it, fresh] =
        communications_.try_emplace(key, static_cast<int>(result_.communications.size()));
    if (fresh) {
      result_.communications.push_back({key.participants, {}});
      result_.communications.back().arrivals.resize(key.participants.size());
    }
    event.communication = it->second;
    result_.communications[event.communication].arrivals[position] = event;
    return absl::OkStatus();
  }

  // Every participant must have the step in its program at all, in whatever order.
  absl::Status CheckMatched() {
    for (const Communication& communication : result_.communications) {
      for (size_t i = 0; i < communication.participants.size(); ++i) {
        if (communication.arrivals[i].node != kNoIndex) continue;
        for (const Event& event : communication.arrivals) {
          if (event.node == kNoIndex) continue;
          return absl::InvalidArgumentError(
              absl::StrCat("unmatched communication: device ", event.device, " runs ", Where(event),
                           " among devices ", absl::StrJoin(communication.participants, ", "),
                           ", device ", communication.participants[i], " has no matching step"));
        }
      }
    }
    return absl::OkStatus();
  }

  // Devices run until they wait; the last participant to arrive releases the others.
  absl::Status Walk() {
    std::vector<int> arrived(result_.communications.size(), 0);
    std::vector<size_t> next(programs_.size(), 0);
    std::vector<bool> waiting(programs_.size(), false);
    std::vector<int> ready(programs_.size());
    for (size_t d = 0; d < ready.size(); ++d) ready[d] = static_cast<int>(ready.size() - 1 - d);
    while (!ready.empty()) {
      const int d = ready.back();
      ready.pop_back();
      while (next[d] < programs_[d].size()) {
        const Event& event = programs_[d][next[d]];
        result_.events.push_back(event);
        if (event.communication == kNoIndex) {
          ++next[d];
          continue;
        }
        const Communication& communication = result_.communications[event.communication];
        if (++arrived[event.communication] < static_cast<int>(communication.participants.size())) {
          waiting[d] = true;
          break;
        }
        absl::Status status = CheckAgreement(communication);
        if (!status.ok()) return status;
        for (int participant : communication.participants) {
          ++next[participant];
          if (participant == d) continue;
          waiting[participant] = false;
          ready.push_back(participant);
        }
      }
    }
    for (size_t d = 0; d < programs_.size(); ++d) {
      if (waiting[d]) return Stuck(static_cast<int>(d), next);
    }
    return absl::OkStatus();
  }

  absl::Status CheckAgreement(const Communication& communication) {
    const Event& first = communication.arrivals[0];
    if (first.prim == kNoIndex) return absl::OkStatus();
    const Prim& a = plan_.nodes[first.node].prims[first.prim];
    for (const Event& event : communication.arrivals) {
      const Prim& b = plan_.nodes[event.node].prims[event.prim];
      const char* what = nullptr;
      if (a.kind != b.kind) what = "kind";
      if (a.dim != b.dim || a.idim != b.idim || a.odim != b.odim) what = "dimension";
      if (a.source != b.source || a.destination != b.destination) what = "source or destination";
      if (plan_.nodes[first.node].forward != plan_.nodes[event.node].forward) what = "direction";
      if (what == nullptr) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "participants of a collective disagree in its ", what, ": device ", first.device,
          " runs ", a.class_name, " in ", plan_.nodes[first.node].Label(), ", device ",
          event.device, " ", b.class_name));
    }
    return absl::OkStatus();
  }

  std::string Where(const Event& event) const {
    const Node& node = plan_.nodes[event.node];
    if (event.prim == kNoIndex) return node.Label();
    const Prim& prim = node.prims[event.prim];
    const std::vector<int>& tensors = prim.inputs.empty() ? prim.outputs : prim.inputs;
    std::string text = prim.class_name;
    if (!tensors.empty()) absl::StrAppend(&text, " of ", plan_.TensorName(tensors[0]));
    if (prim.kind == PrimKind::kMove) {
      absl::StrAppend(&text, " from ", prim.source, " to ", prim.destination);
    }
    return absl::StrCat(text, " (", node.Label(), ", microbatch ", event.microbatch, ")");
  }

  // Follows, from a waiting device, the first participant that has not arrived.
  absl::Status Stuck(int start, const std::vector<size_t>& next) {
    std::vector<int> path;
    int d = start;
    std::string text;
    while (std::find(path.begin(), path.end(), d) == path.end()) {
      path.push_back(d);
      const Event& event = programs_[d][next[d]];
      const Communication& communication = result_.communications[event.communication];
      int missing = kNoIndex;
      for (int participant : communication.participants) {
        const bool here =
            next[participant] < programs_[participant].size() &&
            programs_[participant][next[participant]].communication == event.communication;
        if (!here && missing == kNoIndex) missing = participant;
      }
      absl::StrAppend(&text, text.empty() ? "" : "; ", "device ", d, " waits in ", Where(event),
                      " for device ", missing);
      if (missing == kNoIndex) break;
      if (next[missing] >= programs_[missing].size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "unmatched communication: ", text, ", which ends without taking part; participants: ",
            absl::StrJoin(communication.participants, ", ")));
      }
      d = missing;
    }
    return absl::InvalidArgumentError(absl::StrCat("wait cycle: ", text));
  }

  const Plan& plan_;
  Schedule result_;
  int64_t steps_ = 0;
  std::vector<std::vector<int>> occurrence_;  // per device, per cell
  std::vector<std::vector<Event>> programs_;  // per device
  absl::flat_hash_map<CommunicationKey, int> communications_;
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const Plan& plan) { return Scheduler(plan).Run(); }

}  // namespace planproof::frontend::nnscaler
