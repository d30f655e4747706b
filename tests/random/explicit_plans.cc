#include "tests/random/explicit_plans.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "lineage/folding/fold.h"
#include "sdfg/collectives.h"
#include "sdfg/operator_library.h"

namespace planproof::random_tests {

using lineage::Lineage;
using lineage::LineageKind;
using sdfg::IndexFunction;
using sdfg::Operand;
using sdfg::Shape;
using sdfg::TensorId;

namespace {

constexpr sdfg::DType kFloat = sdfg::DType::kFloat32;

enum class Cut : uint8_t { kWhole, kRows, kColumns, kPartial };
enum class Deviation : uint8_t { kNone, kSlice, kGroup, kConstant, kOrder };

// What all ranks hold of one logical tensor [rows, width].
struct PlanValue {
  TensorId logical = sdfg::kNone;
  Cut cut = Cut::kWhole;
  std::vector<TensorId> held;  // by rank
  std::vector<int64_t> piece;  // by rank: which piece of the cut dimension
  int stage = 0;               // of the pipeline: devices from stage * ranks on
};

// A plan that cannot be built is a bug here.
void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::abort();
}

class Maker {
 public:
  Maker(uint64_t seed, bool deviate) : random_(seed) {
    plan_.seed = seed;
    const int sizes[] = {2, 3, 4, 4, 6, 8};
    ranks_ = plan_.ranks = sizes[Below(6)];
    rows_ = ranks_ * (2 + Below(2));
    width_ = ranks_ * (2 + Below(2));
    microbatches_ = Below(3) == 0 ? 2 : 1;
    if (deviate) {
      deviation_ = static_cast<Deviation>(1 + Below(4));
      deviating_ = Below(ranks_);
      deviate_at_ = Below(5);
    }
    Parallel().axes = {{"microbatch", microbatches_}};
    Parallel().axis_device_stride = {0};
  }

  ExplicitPlan Make() {
    PlanValue value = Input();
    std::vector<PlanValue> branches = {value};
    if (Below(2) == 0) branches.push_back(Input());
    for (int step = 0; step < 8; ++step) {
      PlanValue& branch = branches[Below(static_cast<int>(branches.size()))];
      Step(&branch);
    }
    for (PlanValue& branch : branches) {
      Complete(&branch);
      Require(branch);
    }
    Must(Logical().Check());
    Must(Parallel().Check());
    return std::move(plan_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  sdfg::Graph& Logical() { return plan_.problem.logical; }
  sdfg::Graph& Parallel() { return plan_.problem.parallel; }

  // Whether rank r deviates here; the n-th occasion, or the last one that comes.
  bool Deviates(Deviation kind, int rank) {
    if (deviation_ != kind || rank != deviating_ || deviated_) return false;
    if (deviate_at_-- > 0 && Below(2) == 0) return false;
    deviated_ = true;
    const char* names[] = {"", "slice", "group", "constant", "order"};
    plan_.deviation = absl::StrCat(names[static_cast<int>(kind)], " on rank ", rank);
    return true;
  }

  std::vector<int> RanksInAnyOrder() {
    std::vector<int> order(ranks_);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  Lineage Full(TensorId logical, size_t axes, int cut_dim, int64_t start, bool batched) {
    Lineage l;
    l.kind = LineageKind::kFull;
    l.logical = logical;
    for (size_t d = 0; d < Logical().tensors[logical].shape.size(); ++d) {
      sdfg::IndexMap map;
      map.constant = static_cast<int>(d) == cut_dim ? start : 0;
      map.terms.push_back({static_cast<int32_t>(axes + d), 1, 1, 0, 0});
      if (d == 0 && batched) map.terms.push_back({0, rows_, 1, 0, 0});
      l.map.push_back(std::move(map));
    }
    return l;
  }

  Shape LocalOf(Cut cut) const {
    return {cut == Cut::kRows ? rows_ / ranks_ : rows_,
            cut == Cut::kColumns ? width_ / ranks_ : width_};
  }
  Lineage LineageOf(const PlanValue& v, int rank) {
    const int dim = v.cut == Cut::kRows ? 0 : v.cut == Cut::kColumns ? 1 : -1;
    const int64_t extent = dim < 0 ? 0 : LocalOf(v.cut)[dim];
    Lineage l = Full(v.logical, 1, dim, v.piece[rank] * extent, true);
    if (v.cut == Cut::kPartial) {
      l.kind = LineageKind::kPartialSum;
      l.term = rank;
      l.terms = ranks_;
    }
    return l;
  }

  TensorId AddParallel(const std::string& name, Shape local, bool axes, sdfg::TensorRole role,
                       sdfg::Device device, Lineage l) {
    sdfg::Tensor t;
    t.name = absl::StrCat(name, "#", Parallel().tensors.size());
    t.shape = std::move(local);
    if (axes) {
      t.axes = {0};
      t.shape.insert(t.shape.begin(), microbatches_);
    }
    t.dtype = kFloat;
    t.role = role;
    t.device = device;
    plan_.problem.lineage.push_back(std::move(l));
    return Parallel().AddTensor(std::move(t));
  }

  TensorId AddLogical(const std::string& name, Shape shape, sdfg::TensorRole role) {
    sdfg::Tensor t;
    t.name = name;
    t.shape = std::move(shape);
    t.dtype = kFloat;
    t.role = role;
    return Logical().AddTensor(std::move(t));
  }

  PlanValue Input() {
    PlanValue v;
    v.logical = AddLogical(absl::StrCat("x", Logical().tensors.size()),
                           {rows_ * microbatches_, width_}, sdfg::TensorRole::kInput);
    v.cut = static_cast<Cut>(Below(3));
    v.piece.resize(ranks_);
    std::iota(v.piece.begin(), v.piece.end(), 0);
    v.held.resize(ranks_);
    for (int r = 0; r < ranks_; ++r) {
      Lineage l = LineageOf(v, r);
      v.held[r] = AddParallel("x", LocalOf(v.cut), true, sdfg::TensorRole::kInput, r, std::move(l));
    }
    return v;
  }

  // A parameter cut along `dim` (-1: whole), a slice per rank.
  std::pair<TensorId, std::vector<TensorId>> Parameter(const PlanValue& v, const Shape& shape,
                                                       int dim) {
    const TensorId logical = AddLogical(absl::StrCat("w", Logical().tensors.size()), shape,
                                        sdfg::TensorRole::kParameter);
    std::vector<TensorId> held;
    for (int r = 0; r < ranks_; ++r) {
      Shape local = shape;
      int64_t piece = dim < 0 ? 0 : v.piece[r];
      if (dim >= 0) local[dim] /= ranks_;
      if (dim >= 0 && Deviates(Deviation::kSlice, r)) piece = (piece + 1) % ranks_;
      Lineage l = Full(logical, 0, dim, dim < 0 ? 0 : piece * local[dim], false);
      held.push_back(AddParallel("w", std::move(local), false, sdfg::TensorRole::kParameter,
                                 v.stage * ranks_ + r, std::move(l)));
    }
    return {logical, std::move(held)};
  }

  TensorId RunLogical(const std::string& name, const IndexFunction& f,
                      std::vector<TensorId> inputs) {
    const TensorId y = AddLogical(absl::StrCat(name, Logical().tensors.size()),
                                  f.outputs[0].shape(f.vars), sdfg::TensorRole::kIntermediate);
    sdfg::Operator op;
    op.name = name;
    op.function = Logical().Intern(f);
    op.inputs = std::move(inputs);
    op.outputs = {y};
    Logical().AddOperator(std::move(op));
    return y;
  }

  TensorId RunParallel(const std::string& name, const IndexFunction& f,
                       std::vector<TensorId> inputs, sdfg::Device device, Lineage l,
                       std::vector<sdfg::Device> participants = {}) {
    const bool axes = std::any_of(inputs.begin(), inputs.end(),
                                  [&](TensorId t) { return !Parallel().tensors[t].axes.empty(); });
    const TensorId y = AddParallel(name, f.outputs[0].shape(f.vars), axes,
                                   sdfg::TensorRole::kIntermediate, device, std::move(l));
    sdfg::Operator op;
    op.name = name;
    op.kind = sdfg::CommunicationFromName(name).value_or(sdfg::OperatorKind::kCompute);
    op.function = Parallel().Intern(f);
    op.inputs = std::move(inputs);
    op.outputs = {y};
    op.devices = {device};
    op.label = absl::StrCat("cell ", Parallel().operators.size());
    op.group = std::move(participants);
    Parallel().AddOperator(std::move(op));
    return y;
  }

  static IndexFunction Instance(const std::string& name, const std::vector<Operand>& operands) {
    absl::StatusOr<IndexFunction> f =
        sdfg::OperatorLibrary::BuiltIn().Instantiate(name, operands, {});
    Must(f.status());
    return *std::move(f);
  }
  static Operand OfShape(Shape shape) {
    return {Operand::Kind::kTensor, std::move(shape), kFloat, {}};
  }
  static Operand Literal(int64_t value) {
    return {Operand::Kind::kLiteral, {}, kFloat, solver::Rational(value)};
  }
  Shape Whole() const { return {rows_ * microbatches_, width_}; }

  void Step(PlanValue* v) {
    switch (Below(7)) {
      case 0:
        return Scale(v);
      case 1:
        return Square(v);
      case 2:
      case 3:
        return Linear(v);
      case 4:
        return Bias(v);
      case 5:
        if (!moved_ && Below(2) == 0) return Move(v);
        return Recut(v);
      default:
        return Recut(v);
    }
  }

  // Runs one operator on every rank, ranks in any order.
  template <typename Function, typename Inputs>
  void Everywhere(const std::string& name, PlanValue* v, Function function, Inputs inputs) {
    absl::StrAppend(&plan_.steps, plan_.steps.empty() ? "" : ", ", name);
    std::vector<TensorId> made(ranks_);
    for (int r : RanksInAnyOrder()) {
      made[r] = RunParallel(name, function(r), inputs(r), v->stage * ranks_ + r, LineageOf(*v, r));
    }
    v->held = std::move(made);
  }

  void Scale(PlanValue* v) {
    const int64_t by = 2 + Below(3);
    v->logical = RunLogical("mul", Instance("mul", {OfShape(Whole()), Literal(by)}), {v->logical});
    Everywhere(
        "mul", v,
        [&](int r) {
          const int64_t own = Deviates(Deviation::kConstant, r) ? by + 1 : by;
          return Instance("mul", {OfShape(LocalOf(v->cut)), Literal(own)});
        },
        [&](int r) { return std::vector<TensorId>{v->held[r]}; });
  }

  void Square(PlanValue* v) {
    if (v->cut == Cut::kPartial) return Recut(v);
    v->logical = RunLogical("mul", Instance("mul", {OfShape(Whole()), OfShape(Whole())}),
                            {v->logical, v->logical});
    Everywhere(
        "mul", v,
        [&](int) {
          return Instance("mul", {OfShape(LocalOf(v->cut)), OfShape(LocalOf(v->cut))});
        },
        [&](int r) {
          return std::vector<TensorId>{v->held[r], v->held[r]};
        });
  }

  void Bias(PlanValue* v) {
    if (v->cut == Cut::kPartial) return Recut(v);
    const auto [logical, held] = Parameter(*v, {width_}, v->cut == Cut::kColumns ? 0 : -1);
    v->logical = RunLogical("add", Instance("add", {OfShape(Whole()), OfShape({width_})}),
                            {v->logical, logical});
    const Shape local = LocalOf(v->cut);
    Everywhere(
        "add", v,
        [&](int) {
          return Instance("add", {OfShape(local), OfShape({local[1]})});
        },
        [&, &held = held](int r) {
          return std::vector<TensorId>{v->held[r], held[r]};
        });
  }

  void Linear(PlanValue* v) {
    if (v->cut == Cut::kPartial) return Recut(v);
    const bool columns = v->cut == Cut::kColumns;
    const bool split = v->cut == Cut::kWhole && Below(3) > 0;
    const auto [logical, held] = Parameter(*v, {width_, width_}, columns ? 1 : split ? 0 : -1);
    v->logical =
        RunLogical("linear", Instance("linear", {OfShape(Whole()), OfShape({width_, width_})}),
                   {v->logical, logical});
    const Shape in = LocalOf(v->cut);
    if (columns) v->cut = Cut::kPartial;
    if (split) v->cut = Cut::kColumns;
    Everywhere(
        "linear", v,
        [&, &held = held](int r) {
          return Instance("linear", {OfShape(in), OfShape(Parallel().tensors[held[r]].shape)});
        },
        [&, &held = held](int r) {
          return std::vector<TensorId>{v->held[r], held[r]};
        });
  }

  // Operands of a collective in the order of the pieces, as a file declares them.
  std::vector<TensorId> InOrder(const PlanValue& v) {
    std::vector<TensorId> operands(ranks_);
    for (int r = 0; r < ranks_; ++r) operands[v.piece[r]] = v.held[r];
    return operands;
  }

  void Recut(PlanValue* v) {
    const Cut from = v->cut;
    Cut to = static_cast<Cut>(Below(3));
    if (to == from) to = from == Cut::kWhole ? Cut::kColumns : Cut::kWhole;
    const Shape in = LocalOf(from);
    const int from_dim = from == Cut::kRows ? 0 : 1, to_dim = to == Cut::kRows ? 0 : 1;
    const std::vector<TensorId> all = InOrder(*v);
    std::vector<sdfg::Device> group;
    for (int r = 0; r < ranks_; ++r) group.push_back(v->stage * ranks_ + r);
    v->cut = to;
    std::vector<TensorId> made(ranks_);
    const char* name = from == Cut::kPartial ? (to == Cut::kWhole ? "all_reduce" : "reduce_scatter")
                       : from == Cut::kWhole ? "chunk"
                       : to == Cut::kWhole   ? "all_gather"
                                             : "all_to_all";
    absl::StrAppend(&plan_.steps, plan_.steps.empty() ? "" : ", ", name);
    for (int r : RanksInAnyOrder()) {
      const int at = static_cast<int>(v->piece[r]);
      std::vector<TensorId> operands = all;
      std::vector<sdfg::Device> participants = group;
      if (from != Cut::kWhole && Deviates(Deviation::kGroup, r)) {
        // A group that leaves one rank out and counts its own operand twice.
        std::erase(participants, Parallel().tensors[operands[(at + 1) % ranks_]].device);
        operands[(at + 1) % ranks_] = operands[at];
      } else if (from != Cut::kWhole && Deviates(Deviation::kOrder, r)) {
        std::swap(operands[0], operands[ranks_ - 1]);
      }
      absl::StatusOr<IndexFunction> f = absl::InternalError("");
      if (from == Cut::kPartial && to == Cut::kWhole) {
        f = sdfg::AllReduce(in, kFloat, ranks_, sdfg::ReduceKind::kSum);
      } else if (from == Cut::kPartial) {
        f = sdfg::ReduceScatter(in, kFloat, ranks_, at, to_dim, sdfg::ReduceKind::kSum);
      } else if (from == Cut::kWhole) {
        f = sdfg::Chunk(in, kFloat, ranks_, at, to_dim);
        operands = {v->held[r]};
      } else if (to == Cut::kWhole) {
        f = sdfg::AllGather(std::vector<Shape>(ranks_, in), kFloat, from_dim);
      } else {
        f = sdfg::AllToAll(in, kFloat, ranks_, at, to_dim, from_dim);
      }
      Must(f.status());
      made[r] =
          RunParallel(name, *f, std::move(operands), group[r], LineageOf(*v, r), participants);
    }
    v->held = std::move(made);
  }

  // To a second stage of the pipeline, to the same rank there or another one.
  void Move(PlanValue* v) {
    if (v->stage > 0) return Recut(v);
    moved_ = true;
    const int shift = Below(2) == 0 ? 0 : Below(2) == 0 ? ranks_ / 2 : 1;
    absl::StrAppend(&plan_.steps, plan_.steps.empty() ? "" : ", ", "move by ", shift);
    PlanValue to = *v;
    to.stage = 1;
    for (int r = 0; r < ranks_; ++r) to.piece[r] = v->piece[(r + shift) % ranks_];
    absl::StatusOr<IndexFunction> f = sdfg::Copy(LocalOf(v->cut), kFloat);
    Must(f.status());
    for (int r : RanksInAnyOrder()) {
      const int from = (r + shift) % ranks_;
      to.held[r] = RunParallel("move", *f, {v->held[from]}, ranks_ + r, LineageOf(to, r),
                               {from, ranks_ + r});
    }
    *v = std::move(to);
  }

  void Complete(PlanValue* v) {
    while (v->cut == Cut::kPartial) Recut(v);
  }

  void Require(const PlanValue& v) {
    for (int r = 0; r < ranks_; ++r) {
      plan_.problem.required.push_back({v.held[r], LineageOf(v, r), "result"});
    }
  }

  std::mt19937_64 random_;
  ExplicitPlan plan_;
  int ranks_ = 2;
  int64_t rows_ = 4, width_ = 4, microbatches_ = 1;
  Deviation deviation_ = Deviation::kNone;
  int deviating_ = 0, deviate_at_ = 0;
  bool deviated_ = false, moved_ = false;
};

}  // namespace

ExplicitPlan MakeExplicitPlan(uint64_t seed, bool deviate) {
  // A kind of deviation may find no occasion; later seeds of the plan have one.
  for (uint64_t attempt = 0;; ++attempt) {
    ExplicitPlan plan = Maker(seed + (attempt << 32), deviate).Make();
    if (plan.deviation.empty() != deviate) return plan;
  }
}

FoldTrial TryExplicitPlan(const ExplicitPlan& plan) {
  FoldTrial trial;
  if (std::optional<lineage::folding::Folding> folding = lineage::folding::Fold(plan.problem)) {
    trial.folded = true;
    for (const lineage::folding::Origin& origin : folding->origins) {
      trial.explicit_left += std::holds_alternative<lineage::folding::Explicit>(origin) ? 1 : 0;
    }
    trial.difference =
        std::string(lineage::folding::CheckFolding(plan.problem, *folding).message());
  }
  stages::VerifyOptions options;
  options.jobs = 1;
  stages::Result result = strategy::Verify(plan.problem, options);
  trial.with = result.verdict;
  for (const std::string& warning : result.warnings) absl::StrAppend(&trial.difference, warning);
  if (!result.violations.empty()) {
    trial.reason = absl::StrCat(result.violations[0].kind, ": ", result.violations[0].message, " ",
                                result.violations[0].cause);
  }
  options.fold_ranks = false;
  trial.without = strategy::Verify(plan.problem, options).verdict;
  return trial;
}

void FoldSummary::Add(const ExplicitPlan& plan, const FoldTrial& trial) {
  const std::string kind =
      plan.deviation.empty() ? "none" : plan.deviation.substr(0, plan.deviation.find(' '));
  std::map<std::string, int>& row = counts[kind];
  ++row[stages::VerdictName(trial.with)];
  ++row[trial.Agrees() ? "agrees" : "DIFFERS"];
  ++row[!trial.folded ? "not folded" : trial.explicit_left == 0 ? "folded" : "folded in part"];
}

std::string FoldSummary::Table() const {
  std::string table;
  for (const auto& [kind, row] : counts) {
    absl::StrAppend(&table, kind, ":");
    for (const auto& [name, number] : row) absl::StrAppend(&table, " ", number, " ", name);
    absl::StrAppend(&table, "\n");
  }
  return table;
}

}  // namespace planproof::random_tests
