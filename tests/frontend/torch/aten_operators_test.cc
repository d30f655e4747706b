// Every ATen operator that the reader translates, against what PyTorch computed
// (record_operators.py, record_image_operators.py, record_everyday_operators.py): shapes, strides,
// options and broadcasting, in double precision.
#include "frontend/torch/aten_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torch/aten_complex.h"
#include "frontend/torch/gzip_file.h"
#include "frontend/torch/problem_of_traces.h"
#include "frontend/torch/trace.h"
#include "nlohmann/json.hpp"
#include "sdfg/dense_evaluator.h"

namespace planproof::frontend::torch {
namespace {

using nlohmann::json;

const json& Recorded() {
  static const auto* const cases = [] {
    auto* const all = new json(json::array());
    for (const char* name : {"operators", "image_operators", "everyday_operators"}) {
      const auto text = ReadGzipFile(
          absl::StrCat(PLANPROOF_SOURCE_DIR "/tests/frontend/torch/goldens/", name, ".json.gz"),
          1 << 24, 1 << 28);
      for (const json& each : json::parse(text.value())) all->push_back(each);
    }
    return all;
  }();
  return *cases;
}

// Operators of the graphs that were compared.
std::set<std::string>& Compared() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

// What proofs leave open: the place in the row of its element number `rank` in descending order.
absl::StatusOr<double> PlaceInOrder(const sdfg::OpaqueCall& call) {
  if (!call.name.starts_with("topk_index")) return sdfg::HashedOpaque(call);
  std::vector<size_t> order(call.row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return call.row[a] > call.row[b]; });
  return static_cast<double>(order.at(static_cast<size_t>(call.scalars.back())));
}

// Of operators whose kernels compute in single precision, or with constants of it.
double Tolerance(const std::string& name) {
  const bool single = name.starts_with("_fused_adam") || name == "hardsigmoid_backward";
  return single ? 1e-6 : 1e-9;
}

// "" if the graph gives the recorded results.
std::string Difference(const json& recorded) {
  const auto trace = ParseTrace(recorded["trace"].dump(), "case");
  if (!trace.ok()) return std::string(trace.status().message());
  lineage::ProblemBuilder problem;
  Relations relations(&problem, {});
  std::set<std::string> decided;
  const absl::Status added =
      AddReference(*trace, sdfg::OperatorLibrary::BuiltIn(), &problem, &relations, false, &decided);
  if (!added.ok()) return std::string(added.message());
  if (const absl::Status status = problem.logical.Check(); !status.ok()) {
    return std::string(status.message());
  }
  for (const sdfg::Operator& op : problem.logical.operators) Compared().insert(op.name);
  std::map<sdfg::TensorId, sdfg::DenseTensor> inputs;
  for (const auto& [name, tensor] : relations.inputs()) {
    inputs[tensor] = {problem.logical.tensors[tensor].shape,
                      recorded["inputs"][name].get<std::vector<double>>()};
  }
  const auto values = sdfg::EvaluateDenseGraph(problem.logical, inputs, PlaceInOrder);
  if (!values.ok()) return std::string(values.status().message());
  const double tolerance = Tolerance(recorded["name"]);
  for (const auto& [key, tensor] : relations.results()) {
    if (key.first != ResultKind::kOutput) continue;
    const std::vector<double>& computed = (*values)[tensor].data;
    const auto expected = recorded["results"][key.second].get<std::vector<double>>();
    if (computed.size() != expected.size()) return key.second + ": another size";
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::abs(computed[i] - expected[i]) > tolerance * (1 + std::abs(expected[i]))) {
        return key.second + "[" + std::to_string(i) + "]: " + std::to_string(computed[i]) +
               ", PyTorch has " + std::to_string(expected[i]);
      }
    }
  }
  return "";
}

TEST(AtenOperators, ComputeWhatPyTorchComputes) {
  ASSERT_GT(Recorded().size(), 1000u);
  std::map<std::string, int> failed;
  for (const json& recorded : Recorded()) {
    const std::string difference = Difference(recorded);
    if (difference.empty() || failed[recorded["name"]]++ > 0) continue;
    ADD_FAILURE() << recorded["name"] << ": " << difference;
  }
  for (const std::string& name : sdfg::OperatorLibrary::BuiltIn().Names()) {
    if (!name.starts_with("aten_")) continue;
    EXPECT_TRUE(Compared().count(name)) << name << " is compared with nothing";
  }
}

TEST(AtenOperators, TheDocumentListsThem) {
  std::ifstream file(PLANPROOF_SOURCE_DIR "/docs/torch-operators.md");
  const std::string document{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  std::set<std::string> names;
  for (const std::string& name : AtenOverloads()) names.insert(AtenBaseName(name));
  for (const std::string& name : ComplexOverloads()) names.insert(AtenBaseName(name));
  for (const std::string& name : names) {
    const std::string shown = name.starts_with("aten.") ? name.substr(5) : name;
    EXPECT_NE(document.find("`" + shown + "`"), std::string::npos) << shown;
  }
}

TEST(AtenOperators, AChangedResultIsNoticed) {
  json recorded = Recorded()[0];
  double& value = recorded["results"]["y0"][0].get_ref<double&>();
  value += 1e-3;
  EXPECT_NE(Difference(recorded), "");
}

TEST(AtenOperators, NamesLoseOverloadAndUnderscore) {
  EXPECT_EQ(AtenBaseName("aten.add_.Tensor"), "aten.add");
  EXPECT_EQ(AtenBaseName("aten.__or__.Tensor"), "aten.__or__");
  EXPECT_EQ(AtenBaseName("aten._foreach_mul_.Scalar"), "aten._foreach_mul");
  EXPECT_EQ(AtenBaseName("fsdp.chunk_cat.default"), "fsdp.chunk_cat");
}

}  // namespace
}  // namespace planproof::frontend::torch
