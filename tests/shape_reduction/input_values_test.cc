// Inputs are chosen among the values that their element types and premises leave, and among those
// at which operators change what they do.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "sdfg/operator_library.h"
#include "shape_reduction/compared_values.h"
#include "shape_reduction/domain_interval.h"
#include "shape_reduction/focused_choice.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/input_premises.h"
#include "shape_reduction/witness.h"
#include "tests/shape_reduction/small_problem.h"

namespace planproof::shape_reduction {
namespace {

using sdfg::DType;
using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::IndexFunctionBuilder;
using sdfg::Op;
using sdfg::Shape;
using sdfg::TensorId;
using sdfg::TensorRole;
using Premise = lineage::Problem::InputPremise;

struct Operand {
  Shape shape;
  DType dtype = DType::kFloat32;
};

// An operator declared in the language, on such operands.
IndexFunction Declared(const std::string& declaration, const std::vector<Operand>& operands) {
  sdfg::OperatorLibrary library = sdfg::OperatorLibrary::CopyOfBuiltIn();
  EXPECT_TRUE(library.AddDeclarations("op f" + declaration + "\n", "test.op").ok()) << declaration;
  std::vector<sdfg::Operand> given(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    given[k].shape = operands[k].shape;
    given[k].dtype = operands[k].dtype;
  }
  auto function = library.Instantiate("f", given, {});
  EXPECT_TRUE(function.ok()) << function.status();
  return function.ok() ? *function : IndexFunction();
}

// The smallest and the largest value of each type that counts.
std::pair<double, double> BoundsOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kUInt8:
      return {0, 255};
    case DType::kInt8:
      return {-128, 127};
    case DType::kInt16:
      return {-32768, 32767};
    default:
      return {-2147483648.0, 2147483647};
  }
}

double ElementOf(const BlockTensor<double>& tensor, size_t k) {
  return tensor.int_valued ? static_cast<double>(tensor.ints[k]) : tensor.values[k];
}

bool Meets(const Premise& premise, const std::vector<double>& row) {
  const std::set<double> different(row.begin(), row.end());
  const auto all = [&](auto test) { return std::all_of(row.begin(), row.end(), test); };
  switch (premise.kind) {
    case Premise::Kind::kPositive:
      return all([](double x) { return x > 0; });
    case Premise::Kind::kNonNegative:
      return all([](double x) { return x >= 0; });
    case Premise::Kind::kNonZero:
      return all([](double x) { return x != 0; });
    case Premise::Kind::kIntegerRange:
      return all([&](double x) {
        return x >= static_cast<double>(premise.low) && x < static_cast<double>(premise.high);
      });
    case Premise::Kind::kNoTie:
      return different.size() == row.size();
    case Premise::Kind::kRowUnmasked:
      return different != std::set<double>{0};
  }
  return false;
}

TEST(InputValuesTest, EveryElementIsOneOfItsTypeThatMeetsThePremises) {
  const std::vector<Premise::Kind> kinds = {Premise::Kind::kPositive, Premise::Kind::kNonNegative,
                                            Premise::Kind::kNonZero,  Premise::Kind::kIntegerRange,
                                            Premise::Kind::kNoTie,    Premise::Kind::kRowUnmasked};
  for (const DType dtype :
       {DType::kBool, DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (size_t set = 0; set < 1u << kinds.size(); ++set) {
      const TensorRole role = set % 2 == 0 ? TensorRole::kInput : TensorRole::kBuffer;
      const int64_t row = dtype == DType::kBool ? 2 : 5;
      SmallProblem p;
      const TensorId x = p.Logical("x", {3, row}, role, dtype);
      const TensorId w = p.Logical("w", {3, row}, TensorRole::kParameter);
      const TensorId y = p.Apply(
          &p.problem.logical,
          Declared(dtype == DType::kBool
                       ? "(x[i, j], w[i, j]) -> y[i, j]: like w = where(x[i, j], w[i, j] + 5, 0)"
                       : "(x[i, j]: int, w[i, j]) -> y[i, j]: like w = [x[i, j] != 3] * w[i, j]",
                   {{{3, row}, dtype}, {{3, row}}}),
          {x, w});
      const TensorId held = p.Slice(y, {0, 0}, {3, row});
      p.Require(held, y, {0, 0});
      std::vector<Premise> premises;
      for (size_t k = 0; k < kinds.size(); ++k) {
        if ((set >> k & 1) == 0) continue;
        Premise premise;
        premise.tensor = x;
        premise.kind = kinds[k];
        premise.low = dtype == DType::kBool ? 0 : 2;
        premise.high = dtype == DType::kBool ? 2 : 12;
        premises.push_back(premise);
      }
      p.problem.premises = premises;
      // Distinct truth values in a row of two are 0 and 1, of which one is not positive.
      const bool contradictory = dtype == DType::kBool && (set >> 4 & 1) != 0 && (set & 5) != 0;
      ProgramCache programs;
      const InputChooser chooser(p.problem, &programs);
      const FocusedChooser focused(p.problem, chooser, &programs);
      Focus focus;
      focus.parallel = held;
      focus.lineage = p.problem.required[0].lineage;
      for (uint64_t seed = 0; seed < 24; ++seed) {
        for (const bool far : {false, true}) {
          const auto inputs =
              far ? focused.Choose(focus, seed) : chooser.Choose(seed, OptionsOfSeed(seed));
          ASSERT_EQ(UnmetPremise(p.problem, inputs).empty(), !contradictory)
              << sdfg::DTypeName(dtype) << " " << set << ": " << UnmetPremise(p.problem, inputs);
          if (contradictory) continue;
          const BlockTensor<double>& chosen = *inputs[x];
          const size_t length = static_cast<size_t>(chosen.dims[1]->blocks());
          for (size_t k = 0; k < static_cast<size_t>(chosen.Blocks()); k += length) {
            std::vector<double> values;
            for (size_t i = 0; i < length; ++i) values.push_back(ElementOf(chosen, k + i));
            for (const double value : values) {
              EXPECT_EQ(value, std::round(value));
              EXPECT_GE(value, BoundsOf(dtype).first);
              EXPECT_LE(value, BoundsOf(dtype).second);
            }
            for (const Premise& premise : premises) {
              EXPECT_TRUE(Meets(premise, values)) << sdfg::DTypeName(dtype) << " " << set;
            }
          }
        }
      }
    }
  }
}

TEST(InputValuesTest, ContradictoryPremisesOnOneElementAreNamed) {
  SmallProblem p;
  const TensorId x = p.Logical("x", {4}, TensorRole::kInput, DType::kUInt8);
  Premise premise;
  premise.tensor = x;
  premise.kind = Premise::Kind::kIntegerRange;
  premise.low = -5;
  premise.high = 0;
  p.problem.premises = {premise};
  ProgramCache programs;
  const InputChooser chooser(p.problem, &programs);
  EXPECT_EQ(UnmetPremise(p.problem, chooser.Choose(1, OptionsOfSeed(1))),
            "no element of x meets its premises");
}

// The values of a logical input with which a plan of one operator compares it.
ComparedValues ComparedWith(const std::string& declaration, DType dtype = DType::kInt64) {
  SmallProblem p;
  const TensorId x = p.Logical("x", {8}, TensorRole::kInput, dtype);
  const TensorId held = p.Slice(x, {0}, {8});
  p.Apply(&p.problem.parallel, Declared(declaration, {{{8}, dtype}}), {held});
  return FindComparedValues(p.problem)[x];
}

TEST(ComparedValuesTest, ConstantsOfComparisonsAreFollowedToInputs) {
  using Integers = std::set<int64_t>;
  EXPECT_EQ(ComparedWith("(x[i]: int) -> y[i]: float32 = [x[i] == -100]").integers, Integers{-100});
  EXPECT_EQ(ComparedWith("(x[i]: int) -> y[i]: float32 = [2 * x[i] + 6 == 0]").integers,
            Integers{-3});
  EXPECT_EQ(ComparedWith("(x[i]: int) -> y[i]: float32 = [x[i] - 7 < 3]").integers,
            (Integers{9, 10, 11}));
  EXPECT_EQ(ComparedWith("(x[i]: int) -> y[i]: float32 = [x[i] // 8 == 2]").integers,
            (Integers{15, 16, 23, 24}));
  EXPECT_EQ(ComparedWith("(x[i]: int) -> y[i]: float32 = sum(v < 4: [x[i] - 12 == v])").edges,
            (Integers{11, 12, 13, 14, 15, 16}));
  EXPECT_TRUE(ComparedWith("(x[i]: int) -> y[i]: float32 = x[i] * 3").integers.empty());
  const auto real = [](const std::string& body) {
    return ComparedWith("(x[i]) -> y[i] = " + body, DType::kFloat32).reals;
  };
  EXPECT_EQ(real("[x[i] > 5]"), std::set<double>{5});
  EXPECT_EQ(real("[2 * x[i] + 1 >= 7]"), std::set<double>{3});
  EXPECT_EQ(real("where(exp(x[i]) == 1, x[i], 0)"), std::set<double>{0});
}

TEST(ComparedValuesTest, ConstantsAreFollowedThroughOperators) {
  SmallProblem p;
  sdfg::Graph* graph = &p.problem.parallel;
  const TensorId x = p.Logical("x", {8}, TensorRole::kInput, DType::kInt64);
  const TensorId held = p.Slice(x, {0}, {8});
  const TensorId moved = p.Apply(
      graph, Declared("(x[i]: int) -> y[i]: int64 = x[i] - 1000", {{{8}, DType::kInt64}}), {held});
  const TensorId row = p.Apply(
      graph, Declared("(x[i]: int) -> y[2, i]: int64 = x[i]", {{{8}, DType::kInt64}}), {moved});
  p.Apply(
      graph,
      Declared("(x[j, i]: int) -> y[j, i]: float32 = [x[j, i] == -7]", {{{2, 8}, DType::kInt64}}),
      {row});
  EXPECT_EQ(FindComparedValues(p.problem)[x].integers, std::set<int64_t>{993});
}

// What an operator of the model asks for ("an id is not negative") restricts what is tried.
TEST(ComparedValuesTest, ValuesOutsideTheModelsDomainAreNotTried) {
  SmallProblem p;
  const TensorId id = p.Logical("id", {8}, TensorRole::kInput, DType::kInt64);
  const TensorId w = p.Logical("w", {16, 4}, TensorRole::kParameter);
  p.Apply(&p.problem.logical,
          Declared("(id[i]: int, w[v, h]) premise 0 <= id[i] \"an id is not negative\" -> "
                   "y[i, h]: like w = sum(v: [id[i] == v] * w[v, h])",
                   {{{8}, DType::kInt64}, {{16, 4}}}),
          {id, w});
  const TensorId held = p.Slice(id, {0}, {8});
  p.Apply(&p.problem.parallel,
          Declared("(x[i]: int) -> y[i]: float32 = [x[i] != -100] + sum(v < 4: [x[i] - 8 == v]) + "
                   "[x[i] == 100]",
                   {{{8}, DType::kInt64}}),
          {held});
  ProgramCache programs;
  const InputRanges ranges(p.problem, &programs);
  EXPECT_EQ(ranges.Usual(id), (std::pair<int64_t, int64_t>{0, 16}));
  EXPECT_EQ(ranges.Domain(id).low, 0);
  const std::vector<int64_t>& values = ranges.ComparedIntegers(id);
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()),
            (std::set<int64_t>{0, 1, 7, 8, 9, 10, 11, 12, 14, 15, 100}));
}

// One operator each, on both sides.
NumericVerdict Judge(const std::string& model, const std::string& plan,
                     const std::vector<Operand>& operands) {
  SmallProblem p;
  std::vector<TensorId> logical, parallel;
  for (size_t k = 0; k < operands.size(); ++k) {
    const TensorId x = p.Logical("x" + std::to_string(k), operands[k].shape, TensorRole::kInput,
                                 operands[k].dtype);
    logical.push_back(x);
    parallel.push_back(
        p.Slice(x, std::vector<int64_t>(operands[k].shape.size(), 0), operands[k].shape));
  }
  const TensorId y = p.Apply(&p.problem.logical, Declared(model, operands), logical);
  const TensorId z = p.Apply(&p.problem.parallel, Declared(plan, operands), parallel, 0);
  p.Require(z, y, std::vector<int64_t>(p.problem.logical.tensors[y].shape.size(), 0));
  p.Check();
  return NumericEqual(p.problem, 24);
}

TEST(InputValuesTest, TruthValuesAreZeroOrOneOnBothSides) {
  const std::vector<Operand> operands = {{{8}, DType::kBool}, {{8}}};
  EXPECT_EQ(Judge("(b[i], x[i]) -> y[i]: like x = where(b[i], x[i], 0)",
                  "(b[i], x[i]) -> y[i]: like x = b[i] * b[i] * x[i]", operands),
            NumericVerdict::kEqual);
  EXPECT_EQ(Judge("(b[i], x[i]) -> y[i]: like x = where(b[i], x[i], 0)",
                  "(b[i], x[i]) -> y[i]: like x = (1 - b[i]) * x[i]", operands),
            NumericVerdict::kDifferent);
}

TEST(InputValuesTest, WhatHappensAtOneValueOnlyIsFound) {
  const std::vector<Operand> ids = {{{8}, DType::kInt64}, {{8}}};
  const std::string other[] = {"[t[i] != -100]", "[t[i] // 8 != 40]", "[t[i] % 50 != 13]",
                               "[t[i] - 4000 < 0]", "[3 * t[i] != 333]"};
  for (const std::string& condition : other) {
    EXPECT_EQ(Judge("(t[i]: int, x[i]) -> y[i]: like x = x[i]",
                    "(t[i]: int, x[i]) -> y[i]: like x = x[i] * " + condition, ids),
              NumericVerdict::kDifferent)
        << condition;
  }
  for (const std::string condition : {"x[i] > 100", "x[i] * 3 + 2 >= 500", "exp(x[i]) < 0.0001",
                                      "max(x[i], 77) != 77", "x[i] == 55.5"}) {
    EXPECT_EQ(Judge("(x[i]) ties first -> y[i] = x[i]",
                    "(x[i]) ties first -> y[i] = where(" + condition + ", 0, x[i])", {{{8}}}),
              NumericVerdict::kDifferent)
        << condition;
  }
}

// A row that does not exist has no value: not 0.
TEST(InputValuesTest, ReadsAtIdsOutsideAreNoCounterexample) {
  const std::vector<Operand> operands = {{{8}, DType::kInt64}, {{16}}};
  EXPECT_EQ(Judge("(t[i]: int, w[v]) -> y[i]: like w = w[t[i]]",
                  "(t[i]: int, w[v]) -> y[i]: like w = w[t[i]] + [t[i] == -100] + [t[i] == 16]",
                  operands),
            NumericVerdict::kEqual);
  EXPECT_EQ(Judge("(t[i]: int, w[v]) -> y[i]: like w = where(t[i] == -100, 7, w[t[i]])",
                  "(t[i]: int, w[v]) -> y[i]: like w = where(t[i] == -100, 8, w[t[i]])", operands),
            NumericVerdict::kDifferent);
}

}  // namespace
}  // namespace planproof::shape_reduction
