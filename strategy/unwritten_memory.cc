#include "strategy/unwritten_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnosis/describe.h"
#include "inference/movement.h"
#include "shape_reduction/replay.h"
#include "stages/cone.h"
#include "strategy/aside.h"
#include "strategy/witness_bytes.h"

namespace planproof::strategy {

using sdfg::kNone;
using sdfg::TensorId;
using shape_reduction::Replay;

namespace {

constexpr double kSecondsOfUnwrittenMemory = 5;
constexpr uint64_t kSeed = 1;

// Not where it is computed with, only where it comes from.
bool OnlyMoves(const sdfg::Operator& op) {
  return op.kind == sdfg::OperatorKind::kUninitialised || sdfg::IsCommunication(op.kind) ||
         inference::TakesElementsByPlace(*op.function);
}

// The problem with memory that nothing has written holding this.
lineage::Problem Holding(lineage::Problem problem, int64_t value) {
  for (sdfg::Operator& op : problem.parallel.operators) {
    if (op.kind != sdfg::OperatorKind::kUninitialised) continue;
    sdfg::IndexFunction function = *op.function;
    for (const sdfg::FunctionOutput& output : function.outputs) {
      sdfg::Node constant{.op = sdfg::Op::kReal, .real = value};
      if (sdfg::IsInteger(output.dtype)) constant = {.op = sdfg::Op::kIntConst, .value = value};
      function.nodes[output.body] = std::move(constant);
    }
    op.function = std::make_shared<const sdfg::IndexFunction>(std::move(function));
  }
  return problem;
}

// Up to what rounding makes of memory that has no effect, such as (x + m) - m.
bool SameNumbers(const Replay::Ptr& a, const Replay::Ptr& b) {
  constexpr double kRelative = 1e-6, kAbsolute = 1e-12;
  if (a == nullptr || b == nullptr) return true;  // nothing is known
  return a->ints == b->ints && std::equal(a->values.begin(), a->values.end(), b->values.begin(),
                                          b->values.end(), [](double x, double y) {
                                            if (x == y || (std::isnan(x) && std::isnan(y)))
                                              return true;
                                            const double scale = std::max(std::abs(x), std::abs(y));
                                            return std::abs(x - y) <= kAbsolute + kRelative * scale;
                                          });
}

// Both values of the memory on the same inputs.
class Effect {
 public:
  explicit Effect(const lineage::Problem& problem)
      : problem_(problem),
        cone_(stages::ConeOfRequired(problem)),
        problems_{Holding(problem, 3), Holding(problem, -5)},
        replays_{Replay(problems_[0]), Replay(problems_[1])} {}

  std::vector<stages::Violation> Find() {
    std::vector<TensorId> outputs;
    for (const lineage::RequiredRelation& required : problem_.required) {
      outputs.push_back(required.parallel);
    }
    for (Replay& replay : replays_) {
      if (!replay.Run(kSeed, outputs, kSecondsOfUnwrittenMemory / 2).ok()) return {};
    }
    for (size_t t = 0; t < problem_.parallel.tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      if (problem_.parallel.tensors[t].producer == kNone && !Same(id)) return {};
    }
    const auto reached = std::find_if(problem_.required.begin(), problem_.required.end(),
                                      [&](const auto& each) { return !Same(each.parallel); });
    if (reached == problem_.required.end()) return {};
    for (size_t o = 0; o < problem_.parallel.operators.size(); ++o) {
      const sdfg::Operator& op = problem_.parallel.operators[o];
      if (!cone_.operators[o] || OnlyMoves(op)) continue;
      for (const TensorId t : op.outputs) {
        if (t != kNone && !Same(t)) return {Reads(problem_.parallel.tensors[t].name, op)};
      }
    }
    const TensorId moved = reached->parallel;
    const sdfg::OperatorId producer = problem_.parallel.tensors[moved].producer;
    return {Reads(reached->what, problem_.parallel.operators[producer])};
  }

 private:
  bool Same(TensorId t) const {
    return SameNumbers(replays_[0].Parallel(t), replays_[1].Parallel(t));
  }

  stages::Violation Reads(const std::string& what, const sdfg::Operator& op) const {
    stages::Violation v;
    v.verdict = stages::Verdict::kMalformed;
    v.kind = "read of memory that nothing has written";
    v.stage = what;
    const auto id = static_cast<sdfg::OperatorId>(&op - problem_.parallel.operators.data());
    v.parallel_operators =
        diagnosis::DescribeOperators(problem_.parallel, {id}, diagnosis::Names::kAll);
    const int device = problem_.parallel.tensors[op.outputs[0]].device;
    if (device >= 0) v.devices = {device};
    const std::string place = op.source.ToString();
    v.cause = absl::StrCat(v.parallel_operators[0], " reads memory that nothing has written",
                           place.empty() ? "" : ", at ", place);
    v.message = "a write before it is missing, or the collective that makes it";
    return v;
  }

  const lineage::Problem& problem_;
  const stages::Cone cone_;
  const lineage::Problem problems_[2];
  Replay replays_[2];
};

}  // namespace

std::optional<stages::Violation> EffectOfUnwrittenMemory(const lineage::Problem& problem,
                                                         const stages::VerifyOptions& options,
                                                         stages::Result* result) {
  const auto& operators = problem.parallel.operators;
  if (std::none_of(operators.begin(), operators.end(), [](const sdfg::Operator& op) {
        return op.kind == sdfg::OperatorKind::kUninitialised;
      })) {
    return std::nullopt;
  }
  const Aside looking{"unwritten memory", kSecondsOfUnwrittenMemory,
                      [&] { return ToBytes(Effect(problem).Find()); }};
  const stages::TaskOutcome outcome = RunAside(options, {looking}, result)[0];
  std::vector<stages::Violation> found;
  if (outcome.status != stages::TaskStatus::kDone || !FromBytes(outcome.result, &found))
    return std::nullopt;
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

}  // namespace planproof::strategy
