#include "shape_reduction/recorded_values.h"

#include <cmath>
#include <memory>
#include <vector>

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
