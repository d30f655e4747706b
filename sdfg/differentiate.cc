#include "sdfg/differentiate.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/adjoint_expressions.h"
#include "sdfg/adjoint_rules.h"
#include "sdfg/index_algebra.h"
#include "sdfg/index_inversion.h"

namespace planproof::sdfg {
namespace {

constexpr size_t kMaxTied = 64;  // operands of one maximum

// The adjoint of a node is an expression over the node's free variables: the derivative of the sum
// over all outputs (each times its gradient) by the node's value at one point. A variable that a
// node does not depend on is summed over as soon as the adjoint passes from a parent that does.
class Differentiator {
 public:
  Differentiator(const IndexFunction& function, const std::vector<int>& wrt,
                 const std::vector<int>& output_gradients)
      : f_(function),
        wrt_(wrt),
        output_gradients_(output_gradients),
        builder_(function.operator_name + ".backward"),
        e_(&builder_) {}

  absl::StatusOr<IndexFunction> Run() {
    if (absl::Status status = CheckArguments(); !status.ok()) return status;
    CopyForward();
    FindWanted();
    if (absl::Status status = Propagate(); !status.ok()) return status;
    for (size_t i = 0; i < wrt_.size(); ++i) AddGradient(static_cast<int>(i));
    if (e_.failed()) return Error("the derivative is too large");
    IndexFunction result;
    if (absl::Status status = builder_.Finish(&result); !status.ok()) return status;
    return result;
  }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("derivative of operator ", f_.operator_name, ": ", what));
  }

  absl::Status CheckArguments() const {
    std::set<int> seen;
    for (int input : wrt_) {
      if (input < 0 || input >= static_cast<int>(f_.inputs.size())) {
        return Error(absl::StrCat("no input ", input));
      }
      const FunctionInput& in = f_.inputs[input];
      if (!seen.insert(input).second) return Error(absl::StrCat("input ", in.name, " twice"));
      if (IsInteger(in.dtype) || in.dtype == DType::kBool) {
        return Error(
            absl::StrCat("input ", in.name, " of type ", DTypeName(in.dtype), " has no gradient"));
      }
      for (const Node& node : f_.nodes) {
        if (node.op == Op::kIntElement && node.input == input) {
          return Error(absl::StrCat("input ", in.name, " is read as an integer"));
        }
      }
    }
    seen.clear();
    for (int output : output_gradients_) {
      if (output < 0 || output >= static_cast<int>(f_.outputs.size())) {
        return Error(absl::StrCat("no output ", output));
      }
      const FunctionOutput& out = f_.outputs[output];
      if (!seen.insert(output).second) return Error(absl::StrCat("output ", out.name, " twice"));
      if (IsInteger(out.dtype) || out.dtype == DType::kBool) {
        return Error(absl::StrCat("output ", out.name, " of type ", DTypeName(out.dtype),
                                  " has no gradient"));
      }
    }
    return absl::OkStatus();
  }

  // Variables keep their numbers, nodes get new ones.
  void CopyForward() {
    for (const FunctionInput& input : f_.inputs) {
      builder_.AddInput(input.name, input.shape, input.dtype);
    }
    for (int output : output_gradients_) {
      const FunctionOutput& out = f_.outputs[output];
      builder_.AddInput("d_" + out.name, out.shape(f_.vars), out.dtype);
    }
    for (const IndexVariable& var : f_.vars) builder_.AddVar(var.name, var.extent);
    for (const std::string& assumption : f_.assumptions) builder_.AddAssumption(assumption);
    for (const Node& node : f_.nodes) {
      std::vector<ExprId> args;
      for (ExprId arg : node.args) args.push_back(forward_[arg]);
      forward_.push_back(e_.Rebuild(node, std::move(args)));

      VarSet free;
      const VarId bound = VariableBoundBy(node);
      if (node.op == Op::kIndex) free.push_back(node.var);
      for (size_t i = 0; i < node.args.size(); ++i) {
        const VarSet& arg = free_[node.args[i]];
        free = UnionOf(free, i == 0 && bound >= 0 ? Without(arg, {bound}) : arg);
      }
      free_.push_back(std::move(free));
    }
  }

  // Which nodes depend on an input in `wrt` as real numbers.
  void FindWanted() {
    for (const Node& node : f_.nodes) {
      bool wanted = false;
      if (node.op == Op::kElement) {
        wanted = std::find(wrt_.begin(), wrt_.end(), node.input) != wrt_.end();
      } else {
        for (int arg : DifferentiableArguments(node)) wanted = wanted || wanted_[node.args[arg]];
      }
      wanted_.push_back(wanted);
    }
  }

  void Contribute(ExprId node, ExprId value) {
    adjoint_[node] = adjoint_[node] == kNoExpr ? value : e_.Add(adjoint_[node], value);
  }

  absl::Status Propagate() {
    adjoint_.assign(f_.nodes.size(), kNoExpr);
    for (size_t k = 0; k < output_gradients_.size(); ++k) {
      const FunctionOutput& output = f_.outputs[output_gradients_[k]];
      if (output.stop_gradient || !wanted_[output.body]) continue;
      std::vector<ExprId> indices;
      VarSet dims(output.dims.begin(), output.dims.end());
      std::sort(dims.begin(), dims.end());
      for (VarId var : output.dims) indices.push_back(builder_.Index(var));
      const ExprId seed = builder_.Element(static_cast<int>(f_.inputs.size() + k), indices);
      Contribute(output.body, e_.SumOver(Without(dims, free_[output.body]), seed));
    }
    for (ExprId id = static_cast<ExprId>(f_.nodes.size()) - 1; id >= 0; --id) {
      const Node& node = f_.nodes[id];
      if (!wanted_[id] || adjoint_[id] == kNoExpr || node.op == Op::kElement) continue;
      if (absl::Status status = PropagateFrom(id); !status.ok()) return status;
      if (e_.failed()) return Error("the derivative is too large");
    }
    return absl::OkStatus();
  }

  absl::Status PropagateFrom(ExprId id) {
    const Node& node = f_.nodes[id];
    if (IsEvenExtremum(node)) {
      std::vector<TiedOperand> operands;
      CollectTied(id, {}, &operands);
      const bool nested = operands.size() != node.args.size() || operands[0].body != node.args[0] ||
                          operands.back().body != node.args.back();
      // A maximum of two that are none has a form of its own.
      if (node.var >= 0 || nested) return PropagateEvenly(id, operands);
    }
    std::vector<ExprId> targets(node.args.begin(), node.args.end());
    std::vector<VarId> bound;
    if (VariableBoundBy(node) >= 0) bound.push_back(node.var);
    std::vector<ExprId> args;
    std::vector<bool> wanted;
    VarSet scope = free_[id];
    for (VarId var : bound) scope = UnionOf(scope, {var});
    for (ExprId target : targets) {
      args.push_back(forward_[target]);
      wanted.push_back(wanted_[target]);
    }
    const absl::StatusOr<std::vector<ExprId>> parts =
        LocalAdjoints(&e_, {node, args, wanted, forward_[id], adjoint_[id]});
    if (!parts.ok()) {
      return absl::Status(parts.status().code(),
                          absl::StrCat("derivative of operator ", f_.operator_name, ": ",
                                       std::string(parts.status().message())));
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      if ((*parts)[i] == kNoExpr || !wanted[i]) continue;
      Contribute(targets[i], e_.SumOver(Without(scope, free_[targets[i]]), (*parts)[i]));
    }
    return absl::OkStatus();
  }

  // max(i: max(j: x)) and max(max(a, b), c) are one maximum: the values that tie share evenly,
  // however they are grouped. The operands of all of them, with the variables that bind each.
  void CollectTied(ExprId id, std::vector<VarId> bound, std::vector<TiedOperand>* operands) const {
    const Node& node = f_.nodes[id];
    if (node.var >= 0) bound.push_back(node.var);
    for (ExprId arg : node.args) {
      if (operands->size() > kMaxTied) return;
      const Node& inner = f_.nodes[arg];
      if (IsEvenExtremum(inner) && IsMaximum(inner) == IsMaximum(node)) {
        CollectTied(arg, bound, operands);
      } else {
        operands->push_back({arg, bound});
      }
    }
  }

  absl::Status PropagateEvenly(ExprId id, const std::vector<TiedOperand>& operands) {
    if (operands.size() > kMaxTied) return Error("the derivative is too large");
    std::vector<TiedOperand> copies = operands;
    for (TiedOperand& operand : copies) operand.body = forward_[operand.body];
    const std::vector<ExprId> weights = EvenWeights(&e_, copies, forward_[id]);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ExprId target = operands[i].body;
      if (!wanted_[target]) continue;
      VarSet scope = free_[id];
      for (VarId var : operands[i].vars) scope = UnionOf(scope, {var});
      Contribute(target,
                 e_.SumOver(Without(scope, free_[target]), e_.Multiply(adjoint_[id], weights[i])));
    }
    return absl::OkStatus();
  }

  static bool IsMaximum(const Node& node) {
    return node.op == Op::kMax || node.op == Op::kReduceMax;
  }
  static bool IsEvenExtremum(const Node& node) {
    const bool minimum = node.op == Op::kMin || node.op == Op::kReduceMin;
    return node.tie == TieRule::kEven && (minimum || IsMaximum(node));
  }

  // The output for wrt_[number]: the sum over all reads of that input.
  void AddGradient(int number) {
    const FunctionInput& input = f_.inputs[wrt_[number]];
    std::vector<VarId> dims;
    std::vector<ExprId> element;
    for (size_t d = 0; d < input.shape.size(); ++d) {
      dims.push_back(builder_.AddVar(absl::StrCat("j", d), input.shape[d]));
      element.push_back(input.shape[d] == 1 ? builder_.Int(0) : builder_.Index(dims.back()));
    }
    const int output = builder_.AddOutput("d_" + input.name, dims, input.dtype);
    ExprId gradient = e_.Zero();
    for (size_t id = 0; id < f_.nodes.size(); ++id) {
      const Node& node = f_.nodes[id];
      if (node.op != Op::kElement || node.input != wrt_[number] || adjoint_[id] == kNoExpr)
        continue;
      if (e_.failed()) break;
      gradient = e_.Add(gradient, GradientOfRead(static_cast<ExprId>(id), element));
    }
    builder_.SetBody(output, gradient);
  }

  // Sum over all variables with (indices of the read) = element of the read's adjoint.
  ExprId GradientOfRead(ExprId read, const std::vector<ExprId>& element) {
    for (VarId var : free_[read]) {
      if (f_.vars[var].extent == 0) return e_.Zero();
    }
    std::vector<ExprId> indices;
    for (ExprId arg : f_.nodes[read].args) indices.push_back(forward_[arg]);
    const IndexSolution solution = SolveIndices(&e_, free_[read], indices, element);
    if (e_.failed()) return e_.Zero();
    ExprId value = e_.Substitute(adjoint_[read], solution.values);
    for (ExprId equation : solution.equations) {
      const ExprId holds = e_.Indicator(equation);
      value = e_.IsChoice(value) ? e_.Multiply(value, holds) : e_.Multiply(holds, value);
    }
    return e_.SumOver(solution.summed, e_.WhereAll(solution.guards, value));
  }

  const IndexFunction& f_;
  const std::vector<int>& wrt_;
  const std::vector<int>& output_gradients_;
  IndexFunctionBuilder builder_;
  AdjointExpressions e_;
  // By node of f_:
  std::vector<ExprId> forward_;  // its copy
  std::vector<VarSet> free_;
  std::vector<bool> wanted_;
  std::vector<ExprId> adjoint_;
};

}  // namespace

absl::StatusOr<IndexFunction> Differentiate(const IndexFunction& function,
                                            const std::vector<int>& wrt,
                                            const std::vector<int>& output_gradients) {
  return Differentiator(function, wrt, output_gradients).Run();
}

}  // namespace planproof::sdfg
