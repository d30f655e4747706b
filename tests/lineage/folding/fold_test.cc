#include "lineage/folding/fold.h"

#include <gtest/gtest.h>

#include <functional>

#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"

namespace planproof::lineage::folding {
namespace {

using sdfg::kNone;
using sdfg::Operand;
using sdfg::Shape;
using sdfg::TensorId;

constexpr sdfg::DType kFloat = sdfg::DType::kFloat32;
constexpr int kRanks = 4;

// y = x w^T with the rows of w over four devices, gathered: h on each device, then y.
class ColumnParallel {
 public:
  ColumnParallel() {
    const Operand x{Operand::Kind::kTensor, {6, 3}, kFloat, {}};
    const auto linear = [&](int64_t rows) {
      return *sdfg::OperatorLibrary::BuiltIn().Instantiate(
          "linear", {x, {Operand::Kind::kTensor, {rows, 3}, kFloat, {}}}, {});
    };
    sdfg::Graph& l = problem.logical;
    const TensorId lx = Add(&l, "x", {6, 3}, sdfg::TensorRole::kInput, -1);
    const TensorId lw = Add(&l, "w", {8, 3}, sdfg::TensorRole::kParameter, -1);
    const TensorId ly = Add(&l, "y", {6, 8}, sdfg::TensorRole::kIntermediate, -1);
    Run(&l, "linear", linear(8), {lx, lw}, ly, -1);
    sdfg::Graph& p = problem.parallel;
    for (int r = 0; r < kRanks; ++r) {
      xs.push_back(Add(&p, "x", {6, 3}, sdfg::TensorRole::kInput, r));
      ws.push_back(Add(&p, "w", {2, 3}, sdfg::TensorRole::kParameter, r));
      hs.push_back(Add(&p, "h", {6, 2}, sdfg::TensorRole::kIntermediate, r));
      ys.push_back(Add(&p, "y", {6, 8}, sdfg::TensorRole::kIntermediate, r));
    }
    problem.lineage.resize(p.tensors.size());
    for (int r = 0; r < kRanks; ++r) {
      problem.lineage[xs[r]] = Full(lx, 0, 0);
      problem.lineage[ws[r]] = Full(lw, 2 * r, 0);
      problem.lineage[hs[r]] = Full(ly, 0, 2 * r);
      problem.lineage[ys[r]] = Full(ly, 0, 0);
    }
    for (int r = 0; r < kRanks; ++r) Run(&p, "linear", linear(2), {xs[r], ws[r]}, hs[r], r);
    for (int r = 0; r < kRanks; ++r) {
      Run(&p, "all_gather", *sdfg::AllGather(std::vector<Shape>(kRanks, {6, 2}), kFloat, 1), hs,
          ys[r], r);
      problem.required.push_back({ys[r], Full(ly, 0, 0), "y"});
    }
    Check();
  }

  void Check() {
    EXPECT_TRUE(problem.logical.Check().ok());
    EXPECT_TRUE(problem.parallel.Check().ok());
  }

  static Lineage Full(TensorId logical, int64_t row, int64_t column) {
    return {.kind = LineageKind::kFull,
            .logical = logical,
            .map = {{row, {{.dim = 0}}}, {column, {{.dim = 1}}}}};
  }
  static TensorId Add(sdfg::Graph* g, const char* name, Shape shape, sdfg::TensorRole role,
                      sdfg::Device device) {
    sdfg::Tensor t;
    t.name = name;
    t.shape = std::move(shape);
    t.dtype = kFloat;
    t.role = role;
    t.device = device;
    return g->AddTensor(std::move(t));
  }
  static void Run(sdfg::Graph* g, const char* name, const sdfg::IndexFunction& f,
                  std::vector<TensorId> inputs, TensorId output, sdfg::Device device) {
    sdfg::Operator op;
    op.name = name;
    op.function = g->Intern(f);
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.devices = {device};
    g->AddOperator(std::move(op));
  }
  sdfg::Operator& Producer(TensorId tensor) {
    return problem.parallel.operators[problem.parallel.tensors[tensor].producer];
  }

  Problem problem;
  std::vector<TensorId> xs, ws, hs, ys;  // by rank
};

template <typename Kind>
int Count(const Folding& folding) {
  int count = 0;
  for (const Origin& origin : folding.origins)
    count += std::holds_alternative<Kind>(origin) ? 1 : 0;
  return count;
}

// Gradients are pieces of one buffer, which a rank may read in another order than the first.
TEST(Fold, PiecesThatAreReadInAnotherOrderAreWhatTheyAreSaidToBe) {
  ColumnParallel plan;
  sdfg::Graph& l = plan.problem.logical;
  sdfg::Graph& p = plan.problem.parallel;
  const TensorId y = plan.problem.required[0].lineage.logical;
  const auto rows = [](int64_t start) {
    sdfg::IndexFunctionBuilder builder("view");
    builder.AddInput("x", {6, 8}, kFloat);
    const int output = builder.AddOutput("y", Shape{3, 8}, kFloat);
    const auto dims = builder.OutputDims(output);
    const sdfg::ExprId row = builder.IntAdd(builder.Index(dims[0]), builder.Int(start));
    builder.SetBody(output, builder.Element(0, {row, builder.Index(dims[1])}));
    sdfg::IndexFunction function;
    EXPECT_TRUE(builder.Finish(&function).ok());
    return function;
  };
  std::vector<TensorId> meant;
  for (const int64_t start : {0, 3}) {
    meant.push_back(ColumnParallel::Add(&l, "piece", {3, 8}, sdfg::TensorRole::kIntermediate, -1));
    ColumnParallel::Run(&l, "view", rows(start), {y}, meant.back(), -1);
  }
  for (int r = 0; r < kRanks; ++r) {
    for (const int k : {r % 2, 1 - r % 2}) {
      const TensorId piece =
          ColumnParallel::Add(&p, "piece", {3, 8}, sdfg::TensorRole::kIntermediate, r);
      plan.problem.lineage.resize(p.tensors.size());
      ColumnParallel::Run(&p, "view", rows(3 * k), {plan.ys[r]}, piece, r);
      plan.problem.required.push_back({piece, ColumnParallel::Full(meant[k], 0, 0), "piece"});
    }
  }
  plan.Check();
  const std::optional<Folding> folding = Fold(plan.problem);
  ASSERT_TRUE(folding.has_value());
  EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
  EXPECT_EQ(Count<Lifted>(*folding), 3);  // linear, and two views that are the same on every rank
  EXPECT_EQ(Count<Explicit>(*folding), 0);
}

TEST(Fold, RanksThatDoTheSameAreOneCoordinate) {
  const ColumnParallel plan;
  const std::optional<Folding> folding = Fold(plan.problem);
  ASSERT_TRUE(folding.has_value());
  EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
  EXPECT_EQ(Count<Lifted>(*folding), 1);
  EXPECT_EQ(Count<CollectiveForm>(*folding), 1);
  EXPECT_EQ(folding->origins.size(), 2u);
  EXPECT_EQ(folding->problem.parallel.tensors.size(), 4u);
  EXPECT_EQ(folding->problem.required.size(), 1u);
  ASSERT_EQ(folding->problem.parallel.axes.size(), 1u);
  EXPECT_EQ(folding->problem.parallel.axes[0].extent, kRanks);
}

// A folding of one problem is checked against another one, which deviates on one rank.
TEST(CheckFolding, NoticesEveryDeviationOfOneInstance) {
  using Change = std::function<void(ColumnParallel*)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"slice", [](auto* p) { p->problem.lineage[p->ws[2]].map[0].constant = 2; }},
      {"logical tensor", [](auto* p) { p->problem.lineage[p->hs[1]].kind = LineageKind::kNone; }},
      {"operand", [](auto* p) { p->Producer(p->hs[3]).inputs[1] = p->ws[2]; }},
      {"group", [](auto* p) { p->Producer(p->ys[1]).inputs[0] = p->hs[1]; }},
      {"order",
       [](auto* p) {
         std::swap(p->Producer(p->ys[0]).inputs[1], p->Producer(p->ys[0]).inputs[2]);
       }},
      {"function",
       [](auto* p) {
         sdfg::IndexFunction f = *p->Producer(p->hs[2]).function;
         for (sdfg::Node& node : f.nodes) {
           if (node.op == sdfg::Op::kMul) node.op = sdfg::Op::kAdd;
         }
         p->Producer(p->hs[2]).function = p->problem.parallel.Intern(std::move(f));
       }},
      {"assumption",
       [](auto* p) {
         sdfg::IndexFunction f = *p->Producer(p->ys[1]).function;
         f.assumptions.push_back("nothing overflows");
         p->Producer(p->ys[1]).function = p->problem.parallel.Intern(std::move(f));
       }},
      {"device", [](auto* p) { p->problem.parallel.tensors[p->hs[1]].device = 2; }},
      {"type",
       [](auto* p) { p->problem.parallel.tensors[p->xs[1]].dtype = sdfg::DType::kFloat16; }},
      {"role",
       [](auto* p) { p->problem.parallel.tensors[p->xs[3]].role = sdfg::TensorRole::kBuffer; }},
      {"requirement", [](auto* p) { p->problem.required[2].lineage.map[1].constant = 1; }},
      {"required tensor", [](auto* p) { p->problem.required[2].parallel = p->ys[1]; }},
      {"fewer requirements", [](auto* p) { p->problem.required.pop_back(); }},
  };
  const ColumnParallel right;
  const std::optional<Folding> folding = Fold(right.problem);
  ASSERT_TRUE(folding.has_value());
  for (const auto& [what, change] : changes) {
    ColumnParallel plan;
    change(&plan);
    EXPECT_FALSE(CheckFolding(plan.problem, *folding).ok()) << what;
    // What is folded anew is folded rightly, or not at all.
    const std::optional<Folding> own = Fold(plan.problem);
    if (own.has_value()) {
      EXPECT_TRUE(CheckFolding(plan.problem, *own).ok()) << what;
    }
  }
}

// The reverse: what is folded is changed, so that it stands for another problem.
TEST(CheckFolding, NoticesEveryChangeOfTheFoldedForm) {
  const ColumnParallel plan;
  using Change = std::function<void(Folding*)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"place", [](Folding* f) { std::swap(f->places[1], f->places[5]); }},
      {"lineage", [](Folding* f) { f->problem.lineage[1].map[0].terms.back().scale += 1; }},
      {"members",
       [](Folding* f) {
         auto& form = std::get<CollectiveForm>(f->origins[1]);
         std::swap(form.originals[0], form.originals[1]);
       }},
      {"collective",
       [](Folding* f) {
         sdfg::Operator& op = f->problem.parallel.operators[1];
         op.function = f->problem.parallel.Intern(*sdfg::AxisBroadcast({4, 6, 8}, kFloat, 0, 0));
       }},
      {"origin", [](Folding* f) { f->origins[0] = Explicit{0}; }},
      {"requirement", [](Folding* f) { f->problem.required[0].lineage.map[1].constant = 1; }},
      {"one more requirement",
       [](Folding* f) { f->problem.required.push_back(f->problem.required[0]); }},
      {"stride", [](Folding* f) { f->problem.parallel.axis_device_stride[0] = 2; }},
  };
  for (const auto& [what, change] : changes) {
    std::optional<Folding> folding = Fold(plan.problem);
    ASSERT_TRUE(folding.has_value());
    ASSERT_TRUE(CheckFolding(plan.problem, *folding).ok());
    change(&*folding);
    EXPECT_FALSE(CheckFolding(plan.problem, *folding).ok()) << what;
  }
}

TEST(Fold, ADeviatingRankStaysExplicitAndTheRestIsFolded) {
  ColumnParallel plan;
  plan.problem.lineage[plan.ws[2]] = ColumnParallel::Full(1, 2, 0);  // the slice of rank 1
  const std::optional<Folding> folding = Fold(plan.problem);
  ASSERT_TRUE(folding.has_value());
  EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
  EXPECT_EQ(Count<Lifted>(*folding), 1);  // of weights that are put together
  EXPECT_EQ(Count<Connection>(*folding), 1);
  EXPECT_EQ(Count<CollectiveForm>(*folding), 1);
}

// Each rank multiplies by a parameter that the others do not hold. Together they would be no tensor
// of the model.
TEST(Fold, OtherParametersOnOtherRanksStayApart) {
  ColumnParallel plan;
  for (int r = 1; r < kRanks; ++r) {
    const TensorId other = ColumnParallel::Add(&plan.problem.logical, "other", {8, 3},
                                               sdfg::TensorRole::kParameter, -1);
    plan.problem.lineage[plan.ws[r]] = ColumnParallel::Full(other, 2 * r, 0);
  }
  plan.Check();
  const std::optional<Folding> folding = Fold(plan.problem);
  ASSERT_TRUE(folding.has_value());
  EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
  EXPECT_EQ(Count<Lifted>(*folding), 0);
  EXPECT_EQ(Count<Explicit>(*folding), kRanks);
}

// Stages of a pipeline meet in the norm of their gradients. With one operator of nine in common
// there is nothing to be gained from folding, with one of eight or more there is.
TEST(Fold, StagesThatShareHardlyAnOperatorStayApart) {
  for (const int apart : {7, 8}) {
    ColumnParallel plan;
    for (int r = 0; r < kRanks; ++r) {
      const TensorId own = ColumnParallel::Add(&plan.problem.logical, "own", {8, 3},
                                               sdfg::TensorRole::kParameter, -1);
      plan.problem.lineage[plan.ws[r]] = ColumnParallel::Full(own, 2 * r, 0);
      for (int k = 1; k < apart; ++k) {
        const TensorId next = ColumnParallel::Add(&plan.problem.parallel, "next", {6, 2},
                                                  sdfg::TensorRole::kIntermediate, r);
        ColumnParallel::Run(&plan.problem.parallel, "neg",
                            *sdfg::OperatorLibrary::BuiltIn().Instantiate(
                                "neg", {{Operand::Kind::kTensor, {6, 2}, kFloat, {}}}, {}),
                            {plan.hs[r]}, next, r);
      }
    }
    plan.problem.lineage.resize(plan.problem.parallel.tensors.size());
    plan.Check();
    EXPECT_EQ(Fold(plan.problem).has_value(), apart == 7);
  }
}

TEST(Fold, TheOrderOfOperandsMattersToAGatherAndNotToASum) {
  for (const bool sum : {false, true}) {
    ColumnParallel plan;
    if (sum) {
      for (int r = 0; r < kRanks; ++r) {
        plan.problem.parallel.tensors[plan.ys[r]].shape = {6, 2};
        plan.problem.lineage[plan.ys[r]] = {};
        plan.Producer(plan.ys[r]).name = "all_reduce";
        plan.Producer(plan.ys[r]).function = plan.problem.parallel.Intern(
            *sdfg::AllReduce({6, 2}, kFloat, kRanks, sdfg::ReduceKind::kSum));
      }
      plan.problem.required.clear();
      plan.Check();
    }
    std::swap(plan.Producer(plan.ys[1]).inputs[0], plan.Producer(plan.ys[1]).inputs[2]);
    const std::optional<Folding> folding = Fold(plan.problem);
    ASSERT_TRUE(folding.has_value());
    EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
    EXPECT_EQ(Count<CollectiveForm>(*folding), sum ? 1 : 0);
  }
}

TEST(Fold, AChainThroughTheRanksIsNoCoordinate) {
  // z on rank r reads z on rank r - 1: one operator would read its own result.
  ColumnParallel plan;
  sdfg::Graph& p = plan.problem.parallel;
  const sdfg::IndexFunction add = *sdfg::AllReduce({6, 8}, kFloat, 2, sdfg::ReduceKind::kSum);
  TensorId last = plan.ys[0];
  for (int r = 0; r < kRanks; ++r) {
    const TensorId z = ColumnParallel::Add(&p, "z", {6, 8}, sdfg::TensorRole::kIntermediate, r);
    ColumnParallel::Run(&p, "add", add, {last, plan.ys[r]}, z, r);
    plan.problem.lineage.emplace_back();
    last = z;
  }
  plan.Check();
  const std::optional<Folding> folding = Fold(plan.problem);
  ASSERT_TRUE(folding.has_value());
  EXPECT_TRUE(CheckFolding(plan.problem, *folding).ok());
  EXPECT_EQ(Count<Explicit>(*folding), kRanks);
}

// Four devices as two by two: sums over {0, 1}, {2, 3} (bit 1), and over {0, 2}, {1, 3} (bit 2).
class TwoByTwo {
 public:
  explicit TwoByTwo(const std::vector<int>& bits) {
    const TensorId lx =
        ColumnParallel::Add(&problem.logical, "x", {24, 3}, sdfg::TensorRole::kInput, -1);
    for (int r = 0; r < kRanks; ++r) {
      values.push_back(
          ColumnParallel::Add(&problem.parallel, "x", {6, 3}, sdfg::TensorRole::kInput, r));
      problem.lineage.push_back(ColumnParallel::Full(lx, 6 * r, 0));
    }
    for (int bit : bits) {
      Sum(2, [&](int r) { return std::vector<int>{r & ~bit, r | bit}; });
    }
  }

  // The sum on each device of what these devices have.
  void Sum(int size, const std::function<std::vector<int>(int)>& over) {
    sdfg::Graph& p = problem.parallel;
    const sdfg::IndexFunction sum = *sdfg::AllReduce({6, 3}, kFloat, size, sdfg::ReduceKind::kSum);
    std::vector<TensorId> sums;
    for (int r = 0; r < kRanks; ++r) {
      sums.push_back(ColumnParallel::Add(&p, "y", {6, 3}, sdfg::TensorRole::kIntermediate, r));
      problem.lineage.emplace_back();
    }
    for (int r = 0; r < kRanks; ++r) {
      std::vector<TensorId> operands;
      for (int other : over(r)) operands.push_back(values[other]);
      ColumnParallel::Run(&p, "all_reduce", sum, operands, sums[r], r);
    }
    values = sums;
  }

  sdfg::Graph Folded() {
    EXPECT_TRUE(problem.logical.Check().ok());
    EXPECT_TRUE(problem.parallel.Check().ok());
    const absl::StatusOr<std::optional<Problem>> folded = FoldChecked(problem);
    EXPECT_TRUE(folded.ok()) << folded.status();
    return folded.ok() && folded->has_value() ? (*folded)->parallel : sdfg::Graph();
  }

  Problem problem;
  std::vector<TensorId> values;
};

TEST(Fold, RanksOfTwoCoordinatesAreFoldedTwice) {
  const sdfg::Graph g = TwoByTwo({1, 2}).Folded();
  EXPECT_EQ(g.axes.size(), 2u);
  EXPECT_EQ(g.operators.size(), 2u);
  ASSERT_EQ(g.tensors.size(), 3u);
  EXPECT_EQ(g.tensors[0].shape, (Shape{2, 2, 6, 3}));
}

TEST(Fold, OneSumOverAllDevicesLeavesTwoCoordinates) {
  TwoByTwo plan({1, 2, 1});
  plan.Sum(kRanks, [](int) { return std::vector<int>{0, 1, 2, 3}; });  // as that of a loss
  const sdfg::Graph g = plan.Folded();
  ASSERT_GE(g.operators.size(), 4u);
  EXPECT_EQ(g.axes.size(), 2u);
  EXPECT_EQ(g.tensors[0].shape, (Shape{2, 2, 6, 3}));
  for (int o = 0; o < 3; ++o) EXPECT_EQ(g.operators[o].inputs.size(), 1u);
}

TEST(Fold, WhatHasAnOrderOrSharesMemoryIsLeftAlone) {
  ColumnParallel plan;
  plan.problem.schedule.programs.push_back({"p", {"phase"}, {}, {}});
  EXPECT_FALSE(Fold(plan.problem).has_value());
}

}  // namespace
}  // namespace planproof::lineage::folding
