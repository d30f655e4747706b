#include "shape_reduction/witness_data.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shape_reduction/input_choice.h"

namespace planproof::shape_reduction {
namespace {

witness::Dimension ToData(const DimPartition& partition) {
  witness::Dimension dim;
  for (const Digit& digit : partition.digits()) dim.digits.push_back({digit.extent, digit.starts});
  return dim;
}

// The common refinement of the cuts of each digit; nothing if its blocks are not the dimension's,
// in their order.
std::optional<DimPartition> PartitionOf(const witness::Dimension& dim) {
  const int64_t extent = dim.Extent();
  DimPartition partition(extent);
  int64_t stride = extent;
  for (const witness::Digit& digit : dim.digits) {
    if (extent == 0) break;
    stride /= digit.extent;
    partition =
        partition.Refine(DimPartition::WithDigitCuts(extent, stride, digit.extent, digit.starts));
  }
  if (partition.too_fine() || partition.blocks() != dim.Blocks()) return std::nullopt;
  const std::vector<int64_t> first = partition.Representatives();
  for (size_t block = 0; block < first.size(); ++block) {
    if (dim.BlockOf(first[block]) != static_cast<int64_t>(block)) return std::nullopt;
  }
  return partition;
}

absl::Status Misfit(const witness::Tensor& tensor, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("input ", tensor.name, " of the witness ", what));
}

}  // namespace

witness::Tensor ToData(const std::string& name, sdfg::DType dtype,
                       const BlockTensor<double>& tensor) {
  witness::Tensor data;
  data.name = name;
  data.dtype = dtype;
  for (const PartitionPtr& dim : tensor.dims) data.dims.push_back(ToData(*dim));
  data.is_integer = tensor.int_valued;
  data.reals = tensor.values;
  data.integers = tensor.ints;
  return data;
}

std::vector<witness::Tensor> ToData(const lineage::Problem& problem,
                                    const std::vector<BlockTensorPtr<double>>& inputs) {
  std::vector<witness::Tensor> data;
  for (size_t id = 0; id < inputs.size(); ++id) {
    if (inputs[id] == nullptr) continue;
    const sdfg::Tensor& tensor = problem.logical.tensors[id];
    data.push_back(ToData(tensor.name, tensor.dtype, *inputs[id]));
  }
  return data;
}

absl::StatusOr<std::vector<const witness::Tensor*>> TensorsOf(const witness::Witness& witness,
                                                              const lineage::Problem& problem) {
  std::map<std::string, size_t> ids;
  for (size_t id = 0; id < problem.logical.tensors.size(); ++id) {
    const sdfg::Tensor& tensor = problem.logical.tensors[id];
    if (InputChooser::IsSource(tensor)) ids.emplace(tensor.name, id);
  }
  std::vector<const witness::Tensor*> tensors(problem.logical.tensors.size(), nullptr);
  for (const witness::Tensor& data : witness.inputs) {
    const auto at = ids.find(data.name);
    if (at == ids.end()) return Misfit(data, "is none of the model's");
    const sdfg::Tensor& tensor = problem.logical.tensors[at->second];
    if (data.Shape() != tensor.shape || data.dtype != tensor.dtype ||
        data.is_integer != sdfg::IsInteger(tensor.dtype)) {
      return Misfit(data, "has another shape or element type than the model's");
    }
    tensors[at->second] = &data;
  }
  for (const auto& [name, id] : ids) {
    if (tensors[id] == nullptr)
      return absl::InvalidArgumentError(absl::StrCat("the witness lacks input ", name));
  }
  return tensors;
}

absl::StatusOr<std::vector<BlockTensorPtr<double>>> InputsOf(const witness::Witness& witness,
                                                             const lineage::Problem& problem) {
  const auto tensors = TensorsOf(witness, problem);
  if (!tensors.ok()) return tensors.status();
  std::vector<BlockTensorPtr<double>> inputs(tensors->size());
  for (size_t id = 0; id < inputs.size(); ++id) {
    if ((*tensors)[id] == nullptr) continue;
    const witness::Tensor& data = *(*tensors)[id];
    auto values = std::make_shared<BlockTensor<double>>();
    for (const witness::Dimension& dim : data.dims) {
      std::optional<DimPartition> partition = PartitionOf(dim);
      if (!partition) return Misfit(data, "is cut in a way that is not represented");
      values->dims.push_back(std::make_shared<const DimPartition>(*std::move(partition)));
    }
    values->int_valued = data.is_integer;
    values->values = data.reals;
    values->ints = data.integers;
    inputs[id] = std::move(values);
  }
  return inputs;
}

}  // namespace planproof::shape_reduction
