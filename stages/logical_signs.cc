#include "stages/logical_signs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sdfg/symbolic_evaluator.h"
#include "stages/class_key.h"
#include "stages/workers/outcome_bytes.h"

namespace planproof::stages {

using sdfg::kNone;
using sdfg::TensorId;
using solver::Affine;

namespace {

// Enough for the root of a norm that is added up in pairs of pairs of a thousand layers.
constexpr int kMaxDepth = 12;
constexpr int64_t kTermBudget = 4'000;

// Reads real logical tensors as unknown values: what is shown then holds whatever they are. Masks
// are read as the relations say.
class OperandsUnknown : public sdfg::RepresentationPolicy {
 public:
  explicit OperandsUnknown(Relations* relations) : relations_(*relations) {}
  sdfg::Representation Of(sdfg::TensorRef tensor) override {
    const bool unknown =
        tensor.graph == kLogical && !relations_.Masked(tensor.tensor) &&
        !sdfg::IsInteger(relations_.problem().logical.tensors[tensor.tensor].dtype);
    if (!unknown) return relations_.Of(tensor);
    sdfg::Representation r;
    r.kind = sdfg::Representation::Kind::kAtom;
    r.tag = static_cast<uint32_t>(tensor.tensor);
    return r;
  }

 private:
  Relations& relations_;
};

class Signs {
 public:
  Signs(const lineage::Problem& problem, Relations* relations)
      : problem_(problem),
        relations_(*relations),
        keys_(problem, *relations),
        evaluator_(&arena_, {&problem.logical, &problem.parallel}, relations),
        operands_unknown_(relations),
        shallow_(&arena_, {&problem.logical, &problem.parallel}, &operands_unknown_),
        done_(problem.logical.tensors.size(), false) {
    for (size_t t = 0; t < done_.size(); ++t) Tell(static_cast<TensorId>(t));
  }

  void Infer(TensorId t, int depth) {
    const sdfg::Tensor& tensor = problem_.logical.tensors[t];
    if (done_[t] || tensor.producer == kNone || depth > kMaxDepth) return;
    done_[t] = true;
    if (relations_.Masked(t) || sdfg::IsInteger(tensor.dtype)) return;
    for (TensorId input : problem_.logical.operators[tensor.producer].inputs) {
      if (input != kNone) Infer(input, depth + 1);
    }
    const std::optional<solver::Sign> sign = SignOf(t);
    if (!sign.has_value() || *sign == solver::Sign::kUnknown) return;
    relations_.SetSign(t, *sign);
    found_.push_back({t, *sign});
    Tell(t);
  }

  const std::vector<LogicalSign>& found() const { return found_; }

 private:
  // The layers of a model have the same definitions, of operands whose signs are the same. What the
  // operator alone tells is asked first: the norm of all gradients stands behind each new value,
  // and is not read again for each.
  std::optional<solver::Sign> SignOf(TensorId t) {
    const std::optional<solver::Sign> sign =
        SignOf(keys_.OfLogicalOperator(t), &signs_of_operators_, &shallow_, t);
    if (sign.has_value() && *sign != solver::Sign::kUnknown) return sign;
    return SignOf(keys_.OfLogical(t), &signs_, &evaluator_, t);
  }

  using KnownSigns = std::unordered_map<std::string, std::optional<solver::Sign>>;
  std::optional<solver::Sign> SignOf(std::string key, KnownSigns* signs,
                                     sdfg::SymbolicEvaluator* evaluator, TensorId t) {
    if (key.empty()) return Evaluate(evaluator, t);
    const auto known = signs->find(key);
    if (known != signs->end()) return known->second;
    return (*signs)[std::move(key)] = Evaluate(evaluator, t);
  }

  std::optional<solver::Sign> Evaluate(sdfg::SymbolicEvaluator* evaluator, TensorId t) {
    arena_.ResetExhausted(kTermBudget);
    evaluator->ClearFailure();
    sdfg::Indices index;
    for (int64_t extent : problem_.logical.tensors[t].shape) {
      if (extent == 0) return std::nullopt;
      index.push_back(extent == 1 ? Affine(0) : Affine::Of(arena_.NewFree(0, extent - 1)));
    }
    // One cell for the whole tensor, or nothing is said.
    const auto value = evaluator->Defined({kLogical, t}, index);
    if (!value || arena_.exhausted() || value->masked != solver::kZeroPoly) return std::nullopt;
    return arena_.SignOf(value->value);
  }

  void Tell(TensorId t) {
    if (relations_.Positive(t)) {
      arena_.SetTagPositive(static_cast<uint32_t>(t));
    } else if (relations_.NonNegative(t)) {
      arena_.SetTagNonNegative(static_cast<uint32_t>(t));
    }
  }

  const lineage::Problem& problem_;
  Relations& relations_;
  ClassKeys keys_;
  KnownSigns signs_of_operators_, signs_;
  solver::Arena arena_;
  sdfg::SymbolicEvaluator evaluator_;
  OperandsUnknown operands_unknown_;
  sdfg::SymbolicEvaluator shallow_;
  std::vector<bool> done_;
  std::vector<LogicalSign> found_;
};

constexpr char kTaskName[] = "signs of logical tensors";

std::vector<TensorId> Operands(const lineage::Problem& problem) {
  std::vector<TensorId> operands;
  for (const sdfg::Operator& op : problem.logical.operators) {
    if (!sdfg::CanBeUndefined(*op.function)) continue;
    // Derivatives repeat the forward operator's operands; those are inferred there.
    if (op.derivative) continue;
    for (TensorId t : op.inputs) {
      const bool known = t == kNone || problem.logical.tensors[t].producer == kNone;
      if (!known) operands.push_back(t);
    }
  }
  return operands;
}

std::vector<LogicalSign> FindSigns(const lineage::Problem& problem,
                                   const std::vector<TensorId>& operands, Relations* relations) {
  Signs signs(problem, relations);
  for (const TensorId t : operands) signs.Infer(t, 0);
  return signs.found();
}

}  // namespace

void InferLogicalSigns(const lineage::Problem& problem, Relations* relations) {
  FindSigns(problem, Operands(problem), relations);
}

std::string InferLogicalSignsInWorker(const lineage::Problem& problem, WorkerLimits limits,
                                      Relations* relations) {
  const std::vector<TensorId> operands = Operands(problem);
  if (operands.empty()) return "";
  const auto find = [&](int) {
    const std::vector<LogicalSign> signs = FindSigns(problem, operands, relations);
    return ToBytes(signs);
  };
  limits.jobs = 1;
  TaskOutcome answer;
  RunInWorkers(
      1, limits, find, [&](int, TaskOutcome outcome) { answer = std::move(outcome); },
      [](int) { return std::string(kTaskName); });
  // It is read when the worker is gone: what this process writes before is copied page by page.
  if (answer.status != TaskStatus::kDone) return answer.reason;
  std::vector<LogicalSign> found;
  const auto is_of_model = [&](const LogicalSign& sign) {
    return sign.tensor >= 0 && static_cast<size_t>(sign.tensor) < problem.logical.tensors.size();
  };
  if (!FromBytes(answer.result, &found) || !std::all_of(found.begin(), found.end(), is_of_model))
    return "the worker's answer was not readable";
  for (const LogicalSign& sign : found) relations->SetSign(sign.tensor, sign.sign);
  return "";
}

}  // namespace planproof::stages
