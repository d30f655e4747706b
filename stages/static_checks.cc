#include "stages/static_checks.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace planproof::stages {

using sdfg::Device;
using sdfg::kNone;
using sdfg::TensorId;

namespace {

// The devices that take part at coordinate 0.
std::vector<Device> Participants(const sdfg::Operator& op) {
  std::vector<Device> devices = op.devices;
  for (const auto& [name, value] : op.attributes) {
    if (name != "ranks") continue;
    for (absl::string_view part : absl::StrSplit(value, ',')) {
      int rank = 0;
      if (absl::SimpleAtoi(part, &rank)) devices.push_back(rank);
    }
  }
  return devices;
}

bool Contains(const std::vector<Device>& devices, Device device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

std::vector<Violation> CheckResidence(const sdfg::Graph& parallel, size_t most) {
  std::vector<Violation> found;
  for (size_t o = 0; o < parallel.operators.size() && found.size() < most; ++o) {
    const sdfg::Operator& op = parallel.operators[o];
    const std::vector<Device> participants = Participants(op);
    Device here = -1;
    for (TensorId output : op.outputs) {
      if (output != kNone) here = parallel.tensors[output].device;
    }
    if (here < 0) continue;
    for (TensorId input : op.inputs) {
      const sdfg::Tensor& tensor = parallel.tensors[input];
      if (tensor.device < 0 || tensor.device == here || Contains(participants, tensor.device)) {
        continue;
      }
      Violation v;
      v.verdict = Verdict::kMalformed;
      v.kind = "tensor used where it is not held";
      v.stage = tensor.name;
      v.devices = {tensor.device, here};
      v.parallel_operators.push_back(op.label.empty() ? op.name : op.name + " (" + op.label + ")");
      std::string producer = "nothing";
      if (tensor.producer != kNone) {
        const sdfg::Operator& p = parallel.operators[tensor.producer];
        producer = p.label.empty() ? p.name : p.name + " (" + p.label + ")";
        v.parallel_operators.push_back(producer);
      }
      v.logical_source = op.source.ToString();
      v.cause = absl::StrCat("tensor ", tensor.name, " is used on device ", here,
                             " but held on device ", tensor.device);
      v.message =
          absl::StrCat(v.cause, ": used by ", v.parallel_operators[0], ", made by ", producer);
      found.push_back(std::move(v));
      break;
    }
  }
  return found;
}

}  // namespace planproof::stages
