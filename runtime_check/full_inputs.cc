#include "runtime_check/full_inputs.h"

#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/rounding.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/recorded_values.h"
#include "shape_reduction/witness_data.h"

namespace planproof::runtime_check {
namespace {

using sdfg::DType;
using sdfg::TensorId;
using shape_reduction::BlockTensor;
using shape_reduction::DimPartition;
using shape_reduction::InputChooser;
using Random = InputChooser::Random;

constexpr int64_t kSteps = int64_t{1} << 20;  // between 0 and the largest value

std::vector<shape_reduction::PartitionPtr> EveryIndex(const sdfg::Shape& shape) {
  std::vector<shape_reduction::PartitionPtr> dims;
  for (const int64_t extent : shape)
    dims.push_back(std::make_shared<const DimPartition>(DimPartition::Full(extent)));
  return dims;
}

std::shared_ptr<BlockTensor<double>> RandomTensor(const lineage::Problem& problem, TensorId id,
                                                  const InputChooser& chooser, Random* random) {
  const sdfg::Tensor& tensor = problem.logical.tensors[id];
  auto result = std::make_shared<BlockTensor<double>>();
  result->dims = EveryIndex(tensor.shape);
  result->int_valued = sdfg::IsInteger(tensor.dtype);
  const int64_t count = CountOf(tensor.shape);
  if (result->int_valued) {
    const auto [low, high] = chooser.ranges().Usual(id);
    const auto range = static_cast<uint64_t>(std::max<int64_t>(high - low, 1));
    for (int64_t i = 0; i < count; ++i)
      result->ints.push_back(low + static_cast<int64_t>((*random)() % range));
    if (!chooser.ranges().Domain(id).IsEmpty())
      chooser.MeetRowPremises(id, random, result->dims, &result->ints);
    return result;
  }
  // A contraction over n elements has n terms of either sign, and grows with the root of n.
  const double scale = std::sqrt(chooser.ScaleOf(id));
  for (int64_t i = 0; i < count; ++i) {
    const auto step = static_cast<int64_t>((*random)() % (2 * kSteps + 1)) - kSteps;
    result->values.push_back(scale * static_cast<double>(step) / kSteps);
  }
  chooser.MeetPremises(id, scale, random, result.get());
  return result;
}

void RoundToType(DType arithmetic, Values* values) {
  if (values->storage == Values::Storage::kFloat)
    RoundTensor(arithmetic, std::span<float>(values->floats));
}

Values ValuesOf(const sdfg::Tensor& tensor, const BlockTensor<double>& blocks, DType arithmetic) {
  Values values = Values::Zeros(tensor.shape, tensor.dtype, arithmetic);
  for (int64_t i = 0; i < values.size(); ++i) {
    if (values.storage == Values::Storage::kInteger) {
      values.integers[i] = blocks.ints[i];
    } else {
      values.Set(i, blocks.values[i]);
    }
  }
  if (tensor.dtype != DType::kBool) RoundToType(arithmetic, &values);
  return values;
}

Values Expanded(const witness::Tensor& data, DType arithmetic) {
  Values values = Values::Zeros(data.Shape(), data.dtype, arithmetic);
  std::vector<std::vector<int64_t>> blocks;  // by dimension and index
  for (const witness::Dimension& dim : data.dims) {
    std::vector<int64_t>& of_index = blocks.emplace_back();
    for (int64_t i = 0; i < dim.Extent(); ++i) of_index.push_back(dim.BlockOf(i));
  }
  std::vector<int64_t> index(values.shape.size(), 0);
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset = offset * data.dims[d].Blocks() + blocks[d][index[d]];
    if (data.is_integer) {
      values.integers[i] = data.integers[offset];
    } else {
      values.Set(i, data.reals[offset]);
    }
    Advance(values.shape, &index);
  }
  if (data.dtype != DType::kBool) RoundToType(arithmetic, &values);
  return values;
}

}  // namespace

absl::StatusOr<Inputs> RandomInputs(const lineage::Problem& problem, DType arithmetic,
                                    uint64_t seed) {
  shape_reduction::ProgramCache programs;
  const InputChooser chooser(problem, &programs);
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  std::vector<shape_reduction::BlockTensorPtr<double>> chosen(problem.logical.tensors.size());
  Inputs inputs(chosen.size());
  for (size_t t = 0; t < chosen.size(); ++t) {
    const sdfg::Tensor& tensor = problem.logical.tensors[t];
    if (!InputChooser::IsSource(tensor)) continue;
    const auto id = static_cast<TensorId>(t);
    chosen[t] = shape_reduction::RecordedTensor(problem, id);
    if (chosen[t] == nullptr) chosen[t] = RandomTensor(problem, id, chooser, &random);
    inputs[t] = ValuesOf(tensor, *chosen[t], arithmetic);
  }
  const std::string unmet = shape_reduction::UnmetPremise(problem, chosen);
  if (!unmet.empty()) return absl::FailedPreconditionError(unmet);
  return inputs;
}

absl::StatusOr<Inputs> InputsOf(const witness::Witness& witness, const lineage::Problem& problem,
                                DType arithmetic) {
  const auto tensors = shape_reduction::TensorsOf(witness, problem);
  if (!tensors.ok()) {
    return absl::Status(tensors.status().code(),
                        absl::StrCat(std::string(tensors.status().message()),
                                     "; replay it with the files of which verify wrote it"));
  }
  Inputs inputs(tensors->size());
  for (size_t id = 0; id < inputs.size(); ++id) {
    if ((*tensors)[id] != nullptr) inputs[id] = Expanded(*(*tensors)[id], arithmetic);
  }
  return inputs;
}

Values PerturbedTensor(const Values& values, DType element, DType arithmetic,
                       Perturbation perturbation, uint64_t seed) {
  Values result = values;
  if (values.storage == Values::Storage::kInteger || element == DType::kBool) return result;
  Random random(seed);
  const double epsilon = EpsilonOf(arithmetic);
  const uint64_t of_tensor = random();
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values.At(i);
    const bool up = perturbation == Perturbation::kByElement
                        ? random() % 2 == 0
                        : Random(of_tensor ^ std::bit_cast<uint64_t>(value))() % 2 == 0;
    result.Set(i, value * (1 + (up ? epsilon : -epsilon)));
  }
  RoundToType(arithmetic, &result);
  return result;
}

Inputs InFloat64(const Inputs& inputs) {
  Inputs wide = inputs;
  for (Values& values : wide) {
    if (values.storage != Values::Storage::kFloat) continue;
    values.storage = Values::Storage::kDouble;
    values.doubles.assign(values.floats.begin(), values.floats.end());
    values.floats = {};
  }
  return wide;
}

Inputs Perturbed(const Inputs& inputs, const lineage::Problem& problem, DType arithmetic,
                 Perturbation perturbation, uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 2);
  Inputs result;
  for (size_t id = 0; id < inputs.size(); ++id) {
    result.push_back(PerturbedTensor(inputs[id], problem.logical.tensors[id].dtype, arithmetic,
                                     perturbation, random()));
  }
  return result;
}

}  // namespace planproof::runtime_check
