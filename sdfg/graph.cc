#include "sdfg/graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/graph_check.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxDevicesPrinted = 8;

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

}  // namespace

TensorId Graph::AddTensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size()) - 1;
}

absl::StatusOr<TensorId> Graph::FindTensor(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [name](const Tensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no tensor is called \"", std::string(name), "\""));
  }
  return static_cast<TensorId>(found - tensors.begin());
}

OperatorId Graph::AddOperator(Operator op) {
  const OperatorId id = static_cast<OperatorId>(operators.size());
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const TensorId output = op.outputs[i];
    if (output < 0 || output >= static_cast<TensorId>(tensors.size())) continue;
    if (tensors[output].producer != kNone) continue;  // Check reports both producers
    tensors[output].producer = id;
    tensors[output].producer_output = static_cast<int32_t>(i);
  }
  operators.push_back(std::move(op));
  return id;
}

std::shared_ptr<const IndexFunction> Graph::Intern(IndexFunction function) {
  std::string key = function.operator_name;
  key.push_back('\0');
  key += function.Serialize();
  auto& slot = interned_[std::move(key)];
  if (!slot) slot = std::make_shared<const IndexFunction>(std::move(function));
  return slot;
}

int64_t Graph::InstanceCount(const Operator& op) const {
  // A collective between programs, which reads a tensor of each, is an operator in each of them.
  const auto participants =
      op.inputs.size() > 1 ? int64_t{1} : static_cast<int64_t>(op.devices.size());
  // Whether the participants are the ranks of this axis: an output that varies over it has been
  // counted for each of them.
  const auto takes_part = [&](AxisId axis) {
    return participants > 1 && axes[axis].extent == participants &&
           axis < static_cast<AxisId>(axis_device_stride.size()) &&
           op.devices[1] - op.devices[0] == axis_device_stride[axis];
  };
  int64_t coordinates = 1;
  for (TensorId output : op.outputs) {
    if (output == kNone) continue;
    int64_t count = 1;
    for (AxisId axis : tensors[output].axes) {
      if (!takes_part(axis)) count = SaturatingProduct(count, axes[axis].extent);
    }
    coordinates = std::max(coordinates, count);
  }
  return SaturatingProduct(coordinates, std::max<int64_t>(1, participants));
}

std::string Graph::Describe(const std::vector<AxisCoordinates>& at) const {
  std::vector<std::string> texts;
  for (const AxisCoordinates& part : at) {
    texts.push_back(absl::StrCat(axes[part.axis].name, "=", absl::StrJoin(part.coordinates, "|")));
  }
  return absl::StrJoin(texts, ", ");
}

std::string Graph::Describe(OperatorId id) const {
  const Operator& op = operators[id];
  std::string result = op.label.empty() ? absl::StrCat(op.name, ".", id)
                                        : absl::StrCat(op.name, " (", op.label, ")");
  if (op.devices.empty()) return result;
  absl::StrAppend(&result, op.devices.size() == 1 ? " on device " : " on devices ");
  for (size_t i = 0; i < op.devices.size() && i < kMaxDevicesPrinted; ++i) {
    absl::StrAppend(&result, i == 0 ? "" : ", ", op.devices[i]);
  }
  if (op.devices.size() > kMaxDevicesPrinted) {
    absl::StrAppend(&result, ", ... (", op.devices.size(), " devices)");
  }
  return result;
}

absl::Status Graph::Check() {
  if (axis_device_stride.size() < axes.size()) axis_device_stride.resize(axes.size(), 0);
  if (absl::Status status = CheckTensors(*this); !status.ok()) return status;
  if (absl::Status status = CheckSingleAssignment(*this); !status.ok()) return status;
  for (OperatorId id = 0; id < static_cast<OperatorId>(operators.size()); ++id) {
    if (absl::Status status = CheckOperator(*this, id); !status.ok()) return status;
  }
  std::vector<OperatorId> order;
  if (absl::Status status = TopologicalOrder(*this, &order); !status.ok()) return status;
  std::vector<Operator> sorted;
  sorted.reserve(operators.size());
  for (OperatorId id : order) sorted.push_back(std::move(operators[id]));
  operators = std::move(sorted);
  for (OperatorId id = 0; id < static_cast<OperatorId>(operators.size()); ++id) {
    for (size_t i = 0; i < operators[id].outputs.size(); ++i) {
      const TensorId output = operators[id].outputs[i];
      if (output == kNone) continue;
      tensors[output].producer = id;
      tensors[output].producer_output = static_cast<int32_t>(i);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::sdfg
