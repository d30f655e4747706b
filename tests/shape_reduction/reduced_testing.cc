#include "tests/shape_reduction/reduced_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shape_reduction/opaque_functions.h"

namespace planproof::shape_reduction {

DimPartition RandomPartition(int64_t extent, Random* random) {
  DimPartition result(extent);
  if (extent < 2) return result;
  const int64_t kind = Pick(random, 0, 3);
  if (kind == 0) return result;
  std::vector<int64_t> cuts = {Pick(random, 0, extent)};
  if (kind > 1) cuts.push_back(Pick(random, 0, extent));
  result = DimPartition::WithCuts(extent, cuts);
  if (kind < 3) return result;
  std::vector<int64_t> divisors;
  for (int64_t d = 2; d < extent; ++d) {
    if (extent % d == 0) divisors.push_back(d);
  }
  if (divisors.empty()) return result;
  const int64_t digit = divisors[Pick(random, 0, static_cast<int64_t>(divisors.size()) - 1)];
  return result.Refine(DimPartition::WithDigitCuts(extent, 1, digit, {Pick(random, 1, digit - 1)}));
}

std::shared_ptr<BlockTensor<double>> RandomBlocks(const sdfg::Shape& shape, bool integer,
                                                  int64_t id_range, Random* random,
                                                  bool one_cut_per_dimension, int64_t full_extent) {
  auto tensor = std::make_shared<BlockTensor<double>>();
  tensor->int_valued = integer;
  for (int64_t extent : shape) {
    tensor->dims.push_back(std::make_shared<const DimPartition>(
        extent == full_extent   ? DimPartition::Full(extent)
        : one_cut_per_dimension ? DimPartition::WithCuts(extent, {Pick(random, 1, extent)})
                                : RandomPartition(extent, random)));
  }
  for (int64_t k = tensor->Blocks(); k > 0; --k) {
    if (integer) {
      tensor->ints.push_back(Pick(random, 0, id_range - 1));
    } else {
      tensor->values.push_back(static_cast<double>(Pick(random, -16, 16)) / 8);
      if (full_extent >= 0) tensor->values.back() += static_cast<double>(k) / 1024;
    }
  }
  return tensor;
}

sdfg::DenseTensor Expand(const BlockTensor<double>& tensor) {
  sdfg::DenseTensor dense;
  for (const PartitionPtr& dim : tensor.dims) dense.shape.push_back(dim->extent());
  const int64_t count = sdfg::ElementCount(dense.shape);
  std::vector<int64_t> index(dense.shape.size(), 0);
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = k;
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = rest % dense.shape[d];
      rest /= dense.shape[d];
    }
    const int64_t at = tensor.Offset(index);
    dense.data.push_back(tensor.int_valued ? static_cast<double>(tensor.ints[at])
                                           : tensor.values[at]);
  }
  return dense;
}

namespace {

absl::StatusOr<double> ConcreteOpaque(const sdfg::OpaqueCall& call) {
  std::vector<double> reals;
  std::vector<int64_t> ints;
  if (call.name.rfind("topk", 0) == 0) {
    ints.assign(call.scalars.begin(), call.scalars.end());
  } else {
    reals = call.scalars;
  }
  int64_t integer = 0;
  std::optional<Choice> choice;
  const double value = EvaluateOpaque<DoubleDomain>(
      ParseOpaqueName(call.name), call.name, call.row, reals, ints,
      static_cast<int64_t>(call.row.size()), /*enclose=*/false, &choice, &integer);
  return call.int_valued ? static_cast<double>(integer) : value;
}

}  // namespace

int64_t ExpectReducedEqualsDense(const sdfg::IndexFunction& function, int trials, int64_t id_range,
                                 uint64_t seed, bool one_cut_per_dimension) {
  Random random(seed);
  int64_t largest = 0, ranked = -1;  // equal blocks of a row that a top-k choice ranks are ties
  for (const sdfg::Node& node : function.nodes) {
    if (node.op == sdfg::Op::kOpaque && node.var >= 0) ranked = function.vars[node.var].extent;
  }
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<BlockTensorPtr<double>> inputs;
    std::vector<sdfg::DenseTensor> dense_inputs;
    std::string partitions;
    for (const sdfg::FunctionInput& input : function.inputs) {
      inputs.push_back(RandomBlocks(input.shape, sdfg::IsInteger(input.dtype), id_range, &random,
                                    one_cut_per_dimension, ranked));
      dense_inputs.push_back(Expand(*inputs.back()));
      for (const PartitionPtr& dim : inputs.back()->dims) partitions += dim->ToString() + "; ";
    }
    const auto expected = sdfg::EvaluateDense(function, dense_inputs, ConcreteOpaque);
    EXPECT_TRUE(expected.ok()) << expected.status() << "\n" << sdfg::ToString(function);
    if (!expected.ok()) return -1;
    for (size_t o = 0; o < function.outputs.size(); ++o) {
      const ScalarProgram program = BuildProgram(function, static_cast<int>(o), {}, {});
      ProgramCache cache;
      ReducedEvaluator<DoubleDomain> evaluator(&cache);
      BlockTensorPtr<double> result;
      PremiseCheck premises;
      const absl::Status status =
          evaluator.Apply(program, inputs, int64_t{1} << 22, &result, &premises);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return -1;
      largest = std::max(largest, result->Blocks());
      const sdfg::DenseTensor actual = Expand(*result);
      EXPECT_EQ(actual.data.size(), (*expected)[o].data.size());
      for (size_t k = 0; k < actual.data.size(); ++k) {
        const double a = actual.data[k], e = (*expected)[o].data[k];
        const double tolerance = 1e-9 * std::max(1.0, std::fabs(e));
        if (std::isnan(a) && !std::isfinite(e)) continue;
        if (a == e || std::fabs(a - e) <= tolerance) continue;
        ADD_FAILURE() << "element " << k << ": " << a << " instead of " << e << " in\n"
                      << sdfg::ToString(function) << "\ninputs cut as " << partitions;
        return -1;
      }
    }
  }
  return largest;
}

}  // namespace planproof::shape_reduction
