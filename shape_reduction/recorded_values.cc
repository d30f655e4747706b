#include "shape_reduction/recorded_values.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "shape_reduction/input_choice.h"

namespace planproof::shape_reduction {

using solver::Rational;

BlockTensorPtr<double> RecordedTensor(const lineage::Problem& problem, sdfg::TensorId id) {
  const auto found = problem.recorded.find(id);
  if (found == problem.recorded.end()) return nullptr;
  const sdfg::Tensor& tensor = problem.logical.tensors[id];
  auto result = std::make_shared<BlockTensor<double>>();
  for (int64_t extent : tensor.shape) {
    result->dims.push_back(std::make_shared<const DimPartition>(DimPartition::Full(extent)));
  }
  result->int_valued = sdfg::IsInteger(tensor.dtype);
  for (const Rational& value : found->second) {
    if (result->int_valued) {
      int64_t whole = 0;
      value.ToInt64(&whole);  // what does not fit is not as recorded
      result->ints.push_back(whole);
    } else {
      result->values.push_back(value.ToDouble());
    }
  }
  return result;
}

std::optional<std::vector<BlockTensorPtr<double>>> SampledInputsOf(
    const lineage::Problem& problem) {
  if (problem.sample == nullptr) return std::nullopt;
  constexpr double kWholeDoubles = 0x1p53;
  std::vector<BlockTensorPtr<double>> inputs(problem.logical.tensors.size());
  for (size_t id = 0; id < inputs.size(); ++id) {
    const sdfg::Tensor& tensor = problem.logical.tensors[id];
    if (!InputChooser::IsSource(tensor)) continue;
    inputs[id] = RecordedTensor(problem, static_cast<sdfg::TensorId>(id));
    if (inputs[id] != nullptr) continue;
    const auto found = problem.sample->elements.find(static_cast<sdfg::TensorId>(id));
    if (found == problem.sample->elements.end()) return std::nullopt;
    auto made = std::make_shared<BlockTensor<double>>();
    size_t count = 1;
    for (const int64_t extent : tensor.shape) {
      made->dims.push_back(std::make_shared<const DimPartition>(DimPartition::Full(extent)));
      count *= static_cast<size_t>(extent);
    }
    if (found->second.size() != count) return std::nullopt;
    made->int_valued = sdfg::IsInteger(tensor.dtype);
    for (const double value : found->second) {
      if (!made->int_valued) {
        made->values.push_back(value);
      } else if (value == std::floor(value) && std::fabs(value) < kWholeDoubles) {
        made->ints.push_back(static_cast<int64_t>(value));
      } else {
        return std::nullopt;
      }
    }
    inputs[id] = std::move(made);
  }
  return inputs;
}

bool AreAsRecorded(const lineage::Problem& problem, sdfg::TensorId id,
                   const BlockTensor<double>& values) {
  const auto found = problem.recorded.find(id);
  if (found == problem.recorded.end()) return true;
  std::vector<int64_t> index(values.dims.size(), 0);
  for (const Rational& recorded : found->second) {
    const int64_t at = values.Offset(index);
    if (!values.int_valued && !std::isfinite(values.values[at])) return false;
    const Rational value =
        values.int_valued ? Rational(values.ints[at]) : Rational::FromDouble(values.values[at]);
    if (!(value == recorded)) return false;
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < values.dims[d]->extent()) break;
      index[d] = 0;
    }
  }
  return true;
}

}  // namespace planproof::shape_reduction
