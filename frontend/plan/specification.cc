#include "frontend/plan/specification.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/plan/local_calls.h"
#include "frontend/plan/overwritten_operands.h"
#include "frontend/plan/relation.h"
#include "frontend/plan/remedies.h"
#include "frontend/plan/rounded_literal.h"
#include "sdfg/element_type.h"
#include "sdfg/limit.h"
#include "sdfg/reverse_mode.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using sdfg::TensorId;

constexpr int kMaxOperators = 2'000'000;
constexpr int kMaxLiterals = 4096;

sdfg::TensorRole RoleOf(Role role) {
  switch (role) {
    case ROLE_INPUT:
      return sdfg::TensorRole::kInput;
    case ROLE_PARAMETER:
      return sdfg::TensorRole::kParameter;
    case ROLE_BUFFER:
      return sdfg::TensorRole::kBuffer;
    case ROLE_ONE:
      return sdfg::TensorRole::kOne;
    case ROLE_ZERO:
      return sdfg::TensorRole::kZero;
    default:
      return sdfg::TensorRole::kIntermediate;
  }
}

// The key under which the JSON form has tensors of this role.
const char* PartOf(Role role) {
  switch (role) {
    case ROLE_INPUT:
      return "inputs";
    case ROLE_PARAMETER:
      return "parameters";
    case ROLE_BUFFER:
      return "buffers";
    case ROLE_ONE:
      return "ones";
    case ROLE_ZERO:
      return "zeros";
    default:
      return "tensors";
  }
}

class LogicalBuilder {
 public:
  LogicalBuilder(const Specification& specification, const std::string& file,
                 const sdfg::OperatorLibrary& library)
      : specification_(specification), file_(file), library_(library) {}

  absl::StatusOr<LogicalModel> Run() {
    PLAN_RETURN_IF_ERROR(AddLiterals());
    calls_.emplace(library_, out_.literals, &out_.graph);
    PLAN_RETURN_IF_ERROR(AddInputs());
    PLAN_RETURN_IF_ERROR(CheckNames());
    PLAN_RETURN_IF_ERROR(AddOperators());
    PLAN_RETURN_IF_ERROR(CheckOverwrittenOperands(specification_, out_, file_));
    PLAN_RETURN_IF_ERROR(AddPremises());
    return std::move(out_);
  }

 private:
  Position Where(const std::string& part, int index, int line) const {
    return {file_, line, absl::StrCat("/specification/", part, "/", index)};
  }
  Position WhereOperator(int i) const {
    return PositionOf(specification_.operators(i), file_, "/specification", i);
  }

  absl::Status AddLiterals() {
    if (specification_.literals_size() > kMaxLiterals) {
      return At({file_, 0, "/specification/literals"},
                sdfg::BeyondLimit("literals", specification_.literals_size(), kMaxLiterals));
    }
    for (const RoundedLiteral& literal : specification_.literals()) {
      const Position at{file_, literal.line(),
                        absl::StrCat("/specification/literals/", literal.literal())};
      const auto pair = ReadRoundedLiteral(literal.literal(), literal.exact());
      if (!pair.ok()) return At(at, pair.status());
      for (const auto& [value, exact] : out_.literals) {
        if (value == pair->first) return At(at, "stands for two numbers; keep one");
      }
      out_.literals.push_back(*pair);
      if (pair->first == pair->second) continue;
      out_.assumptions.push_back(absl::StrCat("literal ", literal.literal(),
                                              " is the float32 rounding of ", literal.exact()));
    }
    return absl::OkStatus();
  }

  absl::Status AddInputs() {
    for (int i = 0; i < specification_.tensors_size(); ++i) {
      const TensorDeclaration& declaration = specification_.tensors(i);
      const Position at{
          file_, declaration.line(),
          absl::StrCat("/specification/", PartOf(declaration.role()), "/", declaration.name())};
      sdfg::Tensor tensor;
      tensor.name = declaration.name();
      tensor.role = RoleOf(declaration.role());
      tensor.shape.assign(declaration.shape().begin(), declaration.shape().end());
      tensor.source = {file_, declaration.line(), ""};
      if (tensor.name.empty()) return At(at, "a tensor has no name");
      if (tensor.role == sdfg::TensorRole::kIntermediate) {
        return At(at, absl::StrCat("tensor ", tensor.name, " has no role"));
      }
      const absl::StatusOr<sdfg::DType> dtype = sdfg::ElementTypeFromText(declaration.dtype());
      if (!dtype.ok()) {
        return At(at, absl::Status(dtype.status().code(),
                                   absl::StrCat("tensor ", tensor.name, ": ",
                                                std::string(dtype.status().message()))));
      }
      tensor.dtype = *dtype;
      if (absl::Status status = CheckExtents(tensor.shape); !status.ok()) return At(at, status);
      if (!out_.names.emplace(tensor.name, static_cast<TensorId>(out_.graph.tensors.size()))
               .second) {
        return At(at, absl::StrCat("tensor \"", tensor.name, "\" is declared twice"));
      }
      out_.graph.AddTensor(std::move(tensor));
    }
    return absl::OkStatus();
  }

  // Each name is defined once, before any order is sought.
  absl::Status CheckNames() {
    if (specification_.operators_size() > kMaxOperators) {
      return At(WhereOperator(0),
                sdfg::BeyondLimit("operators", specification_.operators_size(), kMaxOperators));
    }
    for (int i = 0; i < specification_.operators_size(); ++i) {
      const Operator& op = specification_.operators(i);
      if (!op.backward().empty()) {
        return At(WhereOperator(i),
                  "the specification derives backward operators itself; use \"gradients\"");
      }
      if (!op.phase().empty() || !op.async().empty() || !op.channel().empty()) {
        return At(WhereOperator(i),
                  "a specification has no order of execution: \"phase\", \"async\" and "
                  "\"channel\" belong to plans");
      }
      if (op.has_collective()) {
        return At(WhereOperator(i), absl::StrCat("\"", op.op(),
                                                 "\" over an axis: a collective has "
                                                 "no place in the logical graph"));
      }
      for (const std::string& output : op.outputs()) {
        if (output.empty()) return At(WhereOperator(i), "an output has no name");
        if (out_.names.count(output) > 0) {
          return At(WhereOperator(i),
                    absl::StrCat("\"", output, "\" is an input and the output of ", op.op()));
        }
        const auto [at, added] = defined_.emplace(output, i);
        if (!added) {
          return At(WhereOperator(i),
                    absl::StrCat("\"", output, "\" has two producers: operators ", at->second,
                                 " and ", i, "; give each output its own name"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddOperators() {
    std::vector<int> waiting;
    for (int i = 0; i < specification_.operators_size(); ++i) waiting.push_back(i);
    std::vector<bool> gradients_done(specification_.gradients_size(), false);
    // Rounds in file order: one round if the file is in order. A shuffled file needs more, so
    // operators are woken by the tensor for which they wait.
    std::unordered_map<std::string, std::vector<int>> wakes;
    while (true) {
      while (!waiting.empty()) {
        std::vector<int> next;
        for (int i : waiting) {
          const Operator& op = specification_.operators(i);
          const std::string* missing = nullptr;
          for (const Operand& operand : op.inputs()) {
            if (operand.kind_case() == Operand::kTensor &&
                out_.names.count(operand.tensor()) == 0) {
              missing = &operand.tensor();
              break;
            }
          }
          if (missing != nullptr) {
            wakes[*missing].push_back(i);
            continue;
          }
          if (absl::Status status = AddOperator(op, WhereOperator(i)); !status.ok()) return status;
          for (const std::string& output : op.outputs()) Wake(output, &wakes, &next);
        }
        waiting = std::move(next);
      }
      bool progress = false;
      for (int g = 0; g < specification_.gradients_size(); ++g) {
        if (gradients_done[g]) continue;
        PLAN_ASSIGN_OR_RETURN(bool added, AddGradientsOf(g));
        if (!added) continue;
        gradients_done[g] = true;
        progress = true;
      }
      if (!progress) break;
      for (auto& [name, operators] : wakes) {
        if (out_.names.count(name) == 0) continue;
        waiting.insert(waiting.end(), operators.begin(), operators.end());
        operators.clear();
      }
    }
    for (int g = 0; g < specification_.gradients_size(); ++g) {
      if (!gradients_done[g]) {
        const Gradients& gradients = specification_.gradients(g);
        if (WaitsForOperators(gradients)) PLAN_RETURN_IF_ERROR(NothingWaits(wakes));
        return At(Where("gradients", g, gradients.line()), MissingOf(gradients));
      }
    }
    return NothingWaits(wakes);
  }

  static void Wake(const std::string& name,
                   std::unordered_map<std::string, std::vector<int>>* wakes,
                   std::vector<int>* next) {
    const auto found = wakes->find(name);
    if (found == wakes->end()) return;
    next->insert(next->end(), found->second.begin(), found->second.end());
    wakes->erase(found);
  }

  absl::Status NothingWaits(const std::unordered_map<std::string, std::vector<int>>& wakes) const {
    int first = -1;
    const std::string* name = nullptr;
    bool undefined = false;
    for (const auto& [missing, operators] : wakes) {
      for (int i : operators) {
        const bool is_undefined = defined_.count(missing) == 0;
        if (first >= 0 && (is_undefined < undefined || (is_undefined == undefined && i > first))) {
          continue;
        }
        first = i;
        name = &missing;
        undefined = is_undefined;
      }
    }
    if (first < 0) return absl::OkStatus();
    if (undefined) return At(WhereOperator(first), Undefined(*name));
    return At(WhereOperator(first),
              absl::StrCat("\"", *name, "\" depends on itself: the operators form a cycle"));
  }

  std::string Undefined(const std::string& name) const {
    std::vector<std::string> known = NamesOf(out_.names);
    for (const auto& [defined, op] : defined_) known.push_back(defined);
    return absl::StrCat("\"", name,
                        "\" is not defined: no input, parameter or output of an operator has that "
                        "name",
                        DidYouMean(name, std::move(known)));
  }

  absl::Status AddOperator(const Operator& op, const Position& at) {
    std::vector<sdfg::Shape> shapes;
    std::vector<sdfg::DType> dtypes;
    sdfg::Operator added;
    for (const Operand& operand : op.inputs()) {
      if (operand.kind_case() != Operand::kTensor) continue;
      const TensorId id = out_.names.at(operand.tensor());
      added.inputs.push_back(id);
      shapes.push_back(out_.graph.tensors[id].shape);
      dtypes.push_back(out_.graph.tensors[id].dtype);
    }
    absl::StatusOr<std::shared_ptr<const LocalCall>> call =
        calls_->Of(op, shapes, dtypes, std::vector<AxisList>(shapes.size()), nullptr);
    if (!call.ok()) return At(at, call.status());
    const sdfg::IndexFunction& function = *(*call)->function;
    if (function.outputs.size() < static_cast<size_t>(op.outputs_size())) {
      return At(at, absl::StrCat(op.op(), " has ", function.outputs.size(), " outputs, not ",
                                 op.outputs_size()));
    }
    added.name = op.op();
    added.label = NameOf(op);
    added.source = SourceOf(op, at);
    added.attributes = (*call)->attributes;
    for (size_t o = 0; o < function.outputs.size(); ++o) {
      if (o >= static_cast<size_t>(op.outputs_size())) {
        added.outputs.push_back(sdfg::kNone);
        continue;
      }
      sdfg::Tensor tensor;
      tensor.name = op.outputs(static_cast<int>(o));
      tensor.shape = function.outputs[o].shape(function.vars);
      tensor.dtype = function.outputs[o].dtype;
      tensor.source = added.source;
      const TensorId id = out_.graph.AddTensor(std::move(tensor));
      if (!out_.names.emplace(op.outputs(static_cast<int>(o)), id).second) {
        return At(at, absl::StrCat("\"", op.outputs(static_cast<int>(o)),
                                   "\" is the name of a gradient"));
      }
      added.outputs.push_back(id);
    }
    added.function = (*call)->function;
    added.adjustable = (*call)->adjustable;
    out_.graph.AddOperator(std::move(added));
    return absl::OkStatus();
  }

  // It names a tensor whose operator waits itself: the fault is further up.
  bool WaitsForOperators(const Gradients& gradients) const {
    const auto waits = [&](const std::string& name) {
      return out_.names.count(name) == 0 && defined_.count(name) > 0;
    };
    return waits(gradients.loss()) ||
           std::any_of(gradients.of().begin(), gradients.of().end(), waits);
  }

  std::string MissingOf(const Gradients& gradients) const {
    if (out_.names.count(gradients.loss()) == 0) return Undefined(gradients.loss());
    for (const std::string& name : gradients.of()) {
      if (out_.names.count(name) == 0) return Undefined(name);
    }
    return "no gradient is asked for; name tensors under \"of\"";
  }

  absl::StatusOr<bool> AddGradientsOf(int g) {
    const Gradients& gradients = specification_.gradients(g);
    const auto loss = out_.names.find(gradients.loss());
    if (loss == out_.names.end() || gradients.of_size() == 0) return false;
    std::vector<TensorId> of;
    for (const std::string& name : gradients.of()) {
      const auto tensor = out_.names.find(name);
      if (tensor == out_.names.end()) return false;
      of.push_back(tensor->second);
    }
    if (absl::Status status = sdfg::AddGradients(&out_.graph, &out_.names, loss->second, of);
        !status.ok()) {
      return At(Where("gradients", g, gradients.line()), status);
    }
    return true;
  }

  absl::Status AddPremises() {
    using Kind = lineage::Problem::InputPremise::Kind;
    for (int i = 0; i < specification_.premises_size(); ++i) {
      const Premise& premise = specification_.premises(i);
      const Position at{file_, premise.line(),
                        absl::StrCat("/specification/premises/", premise.tensor())};
      const auto found = out_.names.find(premise.tensor());
      if (found == out_.names.end()) {
        return At(at, absl::StrCat("\"", premise.tensor(), "\" is not defined",
                                   DidYouMean(premise.tensor(), NamesOf(out_.names))));
      }
      if (out_.graph.tensors[found->second].producer != sdfg::kNone) {
        return At(at, absl::StrCat("\"", premise.tensor(),
                                   "\" is computed; a premise restricts an input"));
      }
      lineage::Problem::InputPremise out;
      out.tensor = found->second;
      switch (premise.kind()) {
        case Premise::POSITIVE:
          out.kind = Kind::kPositive;
          break;
        case Premise::NON_NEGATIVE:
          out.kind = Kind::kNonNegative;
          break;
        case Premise::NON_ZERO:
          out.kind = Kind::kNonZero;
          break;
        case Premise::INTEGER_RANGE:
          out.kind = Kind::kIntegerRange;
          break;
        case Premise::NO_TIE:
          out.kind = Kind::kNoTie;
          break;
        case Premise::ROW_UNMASKED:
          out.kind = Kind::kRowUnmasked;
          break;
        default:
          return At(at, "an unknown kind of premise");
      }
      out.low = premise.low();
      out.high = premise.high();
      if (out.kind == Kind::kIntegerRange && out.low >= out.high) {
        return At(at, absl::StrCat("the range [", out.low, ", ", out.high, ") is empty"));
      }
      out_.premises.push_back(out);
    }
    return absl::OkStatus();
  }

  const Specification& specification_;
  const std::string& file_;
  const sdfg::OperatorLibrary& library_;
  LogicalModel out_;
  std::optional<LocalCalls> calls_;               // of its graph
  std::unordered_map<std::string, int> defined_;  // output -> operator
};

}  // namespace

absl::StatusOr<LogicalModel> BuildLogicalModel(const Specification& specification,
                                               const std::string& file,
                                               const sdfg::OperatorLibrary& library) {
  return LogicalBuilder(specification, file, library).Run();
}

}  // namespace planproof::plan
