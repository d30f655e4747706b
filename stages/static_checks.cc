#include "stages/static_checks.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace planproof::stages {

using sdfg::Device;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

// The devices that take part at coordinate 0, ascending.
std::vector<Device> Participants(const sdfg::Operator& op) {
  std::vector<Device> devices = op.devices;
  devices.insert(devices.end(), op.group.begin(), op.group.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

bool Contains(const std::vector<Device>& devices, Device device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

std::string Name(const sdfg::Operator& op) {
  return op.label.empty() ? op.name : op.name + " (" + op.label + ")";
}

// What an operator makes lies on a device that runs it.
Violation MadeElsewhere(const sdfg::Graph& graph, const sdfg::Operator& op, TensorId output) {
  const sdfg::Tensor& tensor = graph.tensors[output];
  Violation v;
  v.verdict = Verdict::kMalformed;
  v.kind = "tensor held where it is not made";
  v.stage = tensor.name;
  v.parallel_operators.push_back(Name(op));
  v.devices.push_back(tensor.device);
  v.cause = absl::StrCat("tensor ", tensor.name, " is held on device ", tensor.device,
                         ", which takes no part in ", Name(op));
  return v;
}

Violation Misplaced(const sdfg::Graph& graph, const sdfg::Operator& op, TensorId operand,
                    std::vector<Device> devices, std::string cause) {
  const sdfg::Tensor& tensor = graph.tensors[operand];
  Violation v;
  v.verdict = Verdict::kMalformed;
  v.kind = "tensor used where it is not held";
  v.stage = tensor.name;
  v.parallel_operators.push_back(Name(op));
  v.devices = std::move(devices);
  v.cause = std::move(cause);
  std::string made = "an input";
  if (tensor.producer != kNone) {
    const sdfg::Operator& producer = graph.operators[tensor.producer];
    v.parallel_operators.push_back(Name(producer));
    made = "made by " + Name(producer);
    if (!producer.source.ToString().empty()) made += " at " + producer.source.ToString();
  }
  v.message = absl::StrCat(tensor.name, " is ", made, ", used by ", Name(op));
  return v;
}

}  // namespace

std::vector<Violation> CheckResidence(const sdfg::Graph& parallel, size_t most) {
  std::vector<Violation> found;
  for (size_t o = 0; o < parallel.operators.size() && found.size() < most; ++o) {
    const sdfg::Operator& op = parallel.operators[o];
    Device here = -1;
    for (TensorId output : op.outputs) {
      if (output != kNone) here = parallel.tensors[output].device;
    }
    if (here < 0) continue;
    const std::vector<Device> participants = Participants(op);
    const auto stray = std::find_if(op.outputs.begin(), op.outputs.end(), [&](TensorId t) {
      return t != kNone && parallel.tensors[t].device >= 0 && !participants.empty() &&
             !Contains(participants, parallel.tensors[t].device);
    });
    if (stray != op.outputs.end()) {
      found.push_back(MadeElsewhere(parallel, op, *stray));
      continue;
    }
    const auto elsewhere = std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId t) {
      const Device device = parallel.tensors[t].device;
      return device >= 0 && device != here && !Contains(participants, device);
    });
    if (elsewhere != op.inputs.end()) {
      const sdfg::Tensor& tensor = parallel.tensors[*elsewhere];
      found.push_back(Misplaced(parallel, op, *elsewhere, {tensor.device, here},
                                absl::StrCat("tensor ", tensor.name, " is used on device ", here,
                                             " but held on device ", tensor.device)));
      continue;
    }
    if (op.inputs.size() < 2 || op.inputs.size() != participants.size()) continue;
    // A collective reads one operand of each participant.
    std::vector<Device> holders;
    for (TensorId t : op.inputs) holders.push_back(parallel.tensors[t].device);
    for (Device rank : participants) {
      if (Contains(holders, rank) || Contains(holders, -1)) continue;
      const auto position = std::find(participants.begin(), participants.end(), rank);
      const TensorId operand = op.inputs[position - participants.begin()];
      const Device held = parallel.tensors[operand].device;
      found.push_back(
          Misplaced(parallel, op, operand, {rank, held},
                    absl::StrCat("tensor ", parallel.tensors[operand].name, " is used on device ",
                                 rank, " but held on device ", held, ": rank ", rank,
                                 " takes part in ", Name(op), " without an operand")));
      break;
    }
  }
  return found;
}

}  // namespace planproof::stages
