// Graphs with all rows of a choice compute, for the recorded choices, what the graphs compute that
// were read: recorded programs, in numbers.
#include "frontend/torch/chosen_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/row_tensors.h"
#include "frontend/torch/trace.h"
#include "sdfg/dense_evaluator.h"

namespace planproof::frontend::torch {
namespace {

constexpr int64_t kExperts = 4;

struct Program {
  std::vector<Trace> traces;  // the reference, then the ranks

  explicit Program(const std::string& name, int ranks) {
    const std::string directory =
        absl::StrCat(PLANPROOF_SOURCE_DIR, "/tests/torch/traces/", name, "/");
    traces.push_back(ReadTrace(directory + "reference.trace").value());
    for (int rank = 0; rank < ranks; ++rank) {
      traces.push_back(ReadTrace(absl::StrCat(directory, "rank", rank, ".trace")).value());
    }
  }

  lineage::Problem Read(bool with_choices) const {
    std::vector<Trace> read = traces;
    for (Trace& trace : read) {
      for (Executed& executed : trace.operators) {
        if (!with_choices) executed.values.clear();
      }
    }
    const Trace reference = read.front();
    read.erase(read.begin());
    return ProblemOfTraces(reference, read, sdfg::OperatorLibrary::BuiltIn()).value();
  }

  // The recorded choices of the rank's routers, row by row; rank -1 is the reference.
  std::vector<std::vector<int64_t>> ChoicesOf(int rank, size_t router) const {
    for (const Executed& executed : traces[rank + 1].operators) {
      if (!executed.op.starts_with("aten.topk") || router-- > 0) continue;
      std::vector<std::vector<int64_t>> rows;
      const std::vector<int64_t>& values = *executed.values[1];
      for (size_t i = 0; i < values.size(); i += 2) rows.push_back({values[i], values[i + 1]});
      return rows;
    }
    ADD_FAILURE() << "no such router";
    return {};
  }
};

// Routers that choose what was recorded: row after row, as they are met for the first time.
class Routers {
 public:
  Routers(const Program& program, const sdfg::Graph& graph) {
    std::map<int, size_t> routers;  // by rank
    for (const sdfg::Operator& op : graph.operators) {
      if (op.name != "topk") continue;
      const int rank = op.devices.empty() ? -1 : op.devices[0];
      for (const auto& row : program.ChoicesOf(rank, routers[rank]++)) recorded_.push_back(row);
    }
  }

  absl::StatusOr<double> operator()(const sdfg::OpaqueCall& call) {
    if (!call.name.starts_with("topk_index")) return sdfg::HashedOpaque(call);
    if (call.row.size() != kExperts || !call.name.starts_with("topk_index(k=2")) {
      return PlaceInOrder(call);
    }
    size_t row = 0;
    while (row < met_.size() && !Same(met_[row], call.row)) ++row;
    if (row == met_.size()) met_.push_back(call.row);
    if (row >= recorded_.size()) return absl::InternalError("more rows than were recorded");
    return static_cast<double>(recorded_[row][static_cast<size_t>(call.scalars.back())]);
  }
  size_t met() const { return met_.size(); }
  size_t recorded() const { return recorded_.size(); }

 private:
  // A maximum over the vocabulary, or an order.
  static double PlaceInOrder(const sdfg::OpaqueCall& call) {
    std::vector<size_t> order(call.row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return call.row[a] > call.row[b]; });
    return static_cast<double>(order.at(static_cast<size_t>(call.scalars.back())));
  }
  static bool Same(const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 1e-9 * (1 + std::abs(a[i]))) return false;
    }
    return true;
  }
  std::vector<std::vector<int64_t>> recorded_;
  std::vector<std::vector<double>> met_;
};

std::map<sdfg::TensorId, sdfg::DenseTensor> RandomInputs(const sdfg::Graph& graph) {
  std::mt19937 random(7);
  std::map<sdfg::TensorId, sdfg::DenseTensor> inputs;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const sdfg::Tensor& tensor = graph.tensors[t];
    if (tensor.producer != sdfg::kNone) continue;
    sdfg::DenseTensor& values = inputs[static_cast<sdfg::TensorId>(t)];
    values.shape = tensor.shape;
    for (int64_t i = 0; i < sdfg::ElementCount(tensor.shape); ++i) {
      // No two tokens are alike, and nothing is masked.
      values.data.push_back(tensor.dtype == sdfg::DType::kBool ? 0.0
                            : sdfg::IsInteger(tensor.dtype)
                                ? static_cast<double>((7 * inputs.size() + i) % 32)
                                : std::uniform_real_distribution<>(0.05, 1.0)(random));
    }
  }
  return inputs;
}

std::vector<sdfg::Shape> ShapesOf(const sdfg::Graph& graph) {
  std::vector<sdfg::Shape> shapes;
  for (const sdfg::Tensor& tensor : graph.tensors) shapes.push_back(tensor.shape);
  return shapes;
}

// The same numbers in tensors `a` of the one graph and `b` of the other, pair by pair.
void ExpectTheSame(const Program& program, const sdfg::Graph& dense, const sdfg::Graph& read,
                   const std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>>& tensors) {
  Routers routers(program, dense);
  const auto choose = [&](const sdfg::OpaqueCall& call) { return routers(call); };
  const auto of_dense = sdfg::EvaluateDenseGraph(dense, RandomInputs(dense), choose);
  ASSERT_TRUE(of_dense.ok()) << of_dense.status();
  EXPECT_EQ(routers.met(), routers.recorded());
  const auto of_read = sdfg::EvaluateDenseGraph(read, RandomInputs(read), choose);
  ASSERT_TRUE(of_read.ok()) << of_read.status();
  EXPECT_EQ(routers.met(), routers.recorded());
  for (const auto& [in_dense, in_read] : tensors) {
    const std::vector<double>& a = (*of_dense)[in_dense].data;
    const std::vector<double>& b = (*of_read)[in_read].data;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_NEAR(a[i], b[i], 1e-8 * (1 + std::abs(b[i])))
          << read.tensors[in_read].name << "[" << i << "]";
    }
  }
}

void ExpectTheSame(const std::string& name, int ranks) {
  const Program program(name, ranks);
  const lineage::Problem dense = program.Read(true), read = program.Read(false);
  EXPECT_NE(ShapesOf(dense.parallel), ShapesOf(read.parallel));
  ASSERT_EQ(dense.required.size(), read.required.size());
  std::vector<std::pair<sdfg::TensorId, sdfg::TensorId>> of_ranks, of_reference;
  for (size_t r = 0; r < read.required.size(); ++r) {
    of_ranks.emplace_back(dense.required[r].parallel, read.required[r].parallel);
    of_reference.emplace_back(dense.required[r].lineage.logical, read.required[r].lineage.logical);
  }
  ExpectTheSame(program, dense.parallel, read.parallel, of_ranks);
  ExpectTheSame(program, dense.logical, read.logical, of_reference);
}

TEST(ChosenRows, AllToAllOfMegatronComputesTheSameWithAllRows) {
  ExpectTheSame("megatron_moe_alltoall", 2);
}

TEST(ChosenRows, AllGatherOfMegatronComputesTheSameWithAllRows) {
  ExpectTheSame("megatron_moe_allgather", 2);
}

TEST(ChosenRows, RowsSortedByTorchtitanComputeTheSameWithAllRows) {
  ExpectTheSame("titan_deepseek_ep", 2);
}

TEST(ChosenRows, RowsOfTransformersThatArePutBackComputeTheSameWithAllRows) {
  ExpectTheSame("hf_gpt_oss", 2);
}

Choice TwoSets() {
  Choice choice;
  choice.sets = 2;
  choice.places = 3;
  choice.chosen = {true, false, true, false, true, false};
  return choice;
}
RowLabel At(int64_t set, int64_t place) { return {{0, set}, place}; }

TEST(RowLayout, RowsOfWholeSetsInAnyOrder) {
  const auto layout = RowLayout::Of({At(1, 1), At(0, 2), At(0, 0)}, {TwoSets()});
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->extent(), 6);
  EXPECT_EQ(layout->StartOf({0, 0}), 0);
  EXPECT_EQ(layout->StartOf({0, 1}), 3);
}

TEST(RowLayout, RowsOfSeveralChoicesInTheOrderInWhichTheyAreMentioned) {
  const auto layout =
      RowLayout::Of({{{1, 0}, 2}, At(0, 2), {{1, 0}, 0}, At(0, 0)}, {TwoSets(), TwoSets()});
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->StartOf({1, 0}), 0);
  EXPECT_EQ(layout->StartOf({0, 0}), 3);
}

TEST(RowLayout, ARowThatIsMissing) {
  EXPECT_FALSE(RowLayout::Of({At(1, 1), At(0, 2)}, {TwoSets()}).has_value());
}

TEST(RowLayout, ARowThatIsThereTwice) {
  EXPECT_FALSE(RowLayout::Of({At(0, 2), At(0, 2)}, {TwoSets()}).has_value());
}

}  // namespace
}  // namespace planproof::frontend::torch
