#include "sdfg/index_function.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "sdfg/index_function_check.h"
#include "sdfg/index_range.h"
#include "solver/check.h"

namespace planproof::sdfg {
namespace {

size_t HashOfNode(const Node& node) {
  return absl::HashOf(static_cast<int>(node.op), static_cast<int>(node.tie), node.int_valued,
                      node.var, node.input, node.value, node.real, node.name, node.args);
}

bool SameNode(const Node& a, const Node& b) {
  return a.op == b.op && a.tie == b.tie && a.int_valued == b.int_valued && a.var == b.var &&
         a.input == b.input && a.value == b.value && a.real == b.real && a.name == b.name &&
         a.args == b.args;
}

Node MakeNode(Op op, std::initializer_list<ExprId> args) {
  Node node;
  node.op = op;
  node.args.assign(args.begin(), args.end());
  return node;
}

bool RootsExist(const IndexFunction& function) {
  const auto exists = [&function](ExprId id) {
    return id >= 0 && id < static_cast<ExprId>(function.nodes.size());
  };
  for (const FunctionOutput& output : function.outputs) {
    if (!exists(output.body)) return false;
  }
  for (const FunctionPremise& premise : function.premises) {
    if (!exists(premise.condition)) return false;
  }
  return true;
}

// Drops nodes that no output and no premise uses; keeps the order of the rest.
void DropUnused(IndexFunction* function) {
  std::vector<bool> used(function->nodes.size(), false);
  for (const FunctionOutput& output : function->outputs) used[output.body] = true;
  for (const FunctionPremise& premise : function->premises) used[premise.condition] = true;
  for (size_t i = function->nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (ExprId arg : function->nodes[i].args) used[arg] = true;
  }
  std::vector<ExprId> renumbered(function->nodes.size(), kNoExpr);
  ExprId next = 0;
  for (size_t i = 0; i < function->nodes.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = next;
    if (static_cast<size_t>(next) != i) function->nodes[next] = std::move(function->nodes[i]);
    for (ExprId& arg : function->nodes[next].args) arg = renumbered[arg];
    ++next;
  }
  function->nodes.resize(next);
  for (FunctionOutput& output : function->outputs) output.body = renumbered[output.body];
  for (FunctionPremise& premise : function->premises) {
    premise.condition = renumbered[premise.condition];
  }
}

}  // namespace

Shape FunctionOutput::shape(const std::vector<IndexVariable>& vars) const {
  Shape result;
  for (VarId var : dims) result.push_back(vars[var].extent);
  return result;
}

struct IndexFunctionBuilder::Sharing {
  // Nodes by hash; those with equal hashes are compared.
  absl::flat_hash_map<size_t, absl::InlinedVector<ExprId, 1>> by_hash;
};

IndexFunctionBuilder::IndexFunctionBuilder(std::string operator_name)
    : sharing_(std::make_shared<Sharing>()) {
  function_.operator_name = std::move(operator_name);
}

int IndexFunctionBuilder::AddInput(std::string name, Shape shape, DType dtype) {
  function_.inputs.push_back({std::move(name), std::move(shape), dtype});
  return static_cast<int>(function_.inputs.size()) - 1;
}

VarId IndexFunctionBuilder::AddVar(std::string name, int64_t extent) {
  function_.vars.push_back({std::move(name), extent});
  return static_cast<VarId>(function_.vars.size()) - 1;
}

int IndexFunctionBuilder::AddOutput(std::string name, const Shape& shape, DType dtype) {
  std::vector<VarId> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    dims.push_back(AddVar("i" + std::to_string(i), shape[i]));
  return AddOutput(std::move(name), std::move(dims), dtype);
}

int IndexFunctionBuilder::AddOutput(std::string name, std::vector<VarId> dims, DType dtype) {
  FunctionOutput output;
  output.name = std::move(name);
  output.dims = std::move(dims);
  output.dtype = dtype;
  function_.outputs.push_back(std::move(output));
  return static_cast<int>(function_.outputs.size()) - 1;
}

const std::vector<VarId>& IndexFunctionBuilder::OutputDims(int output) const {
  return function_.outputs.at(output).dims;
}

void IndexFunctionBuilder::SetBody(int output, ExprId body) {
  function_.outputs.at(output).body = body;
}

void IndexFunctionBuilder::AddPremise(int output, ExprId condition, std::string text) {
  function_.premises.push_back({output, condition, std::move(text)});
}

void IndexFunctionBuilder::AddAssumption(std::string text) {
  function_.assumptions.push_back(std::move(text));
}

ExprId IndexFunctionBuilder::AddNode(Node node) {
  for (ExprId arg : node.args) {
    Check(arg >= 0 && arg < static_cast<ExprId>(function_.nodes.size()),
          "argument of an expression does not exist");
  }
  auto& candidates = sharing_->by_hash[HashOfNode(node)];
  for (ExprId id : candidates) {
    if (SameNode(function_.nodes[id], node)) return id;
  }
  const ExprId id = static_cast<ExprId>(function_.nodes.size());
  candidates.push_back(id);
  function_.nodes.push_back(std::move(node));
  return id;
}

const Node& IndexFunctionBuilder::node(ExprId id) const { return function_.nodes.at(id); }

ExprId IndexFunctionBuilder::Int(int64_t value) {
  Node node = MakeNode(Op::kIntConst, {});
  node.value = value;
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Index(VarId var) {
  Node node = MakeNode(Op::kIndex, {});
  node.var = var;
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::IntAdd(ExprId a, ExprId b) {
  const Node& left = node(a);
  const Node& right = node(b);
  const bool left_constant = left.op == Op::kIntConst;
  const bool right_constant = right.op == Op::kIntConst;
  int64_t sum = 0;
  if (left_constant && right_constant && !__builtin_add_overflow(left.value, right.value, &sum)) {
    return Int(sum);
  }
  if (left_constant && left.value == 0) return b;
  if (right_constant && right.value == 0) return a;
  return AddNode(MakeNode(Op::kIntAdd, {a, b}));
}

ExprId IndexFunctionBuilder::IntSub(ExprId a, ExprId b) { return IntAdd(a, IntScale(-1, b)); }

ExprId IndexFunctionBuilder::IntScale(int64_t factor, ExprId a) {
  if (factor == 0) return Int(0);
  if (factor == 1) return a;
  const Node& child = node(a);
  int64_t product = 0;
  if ((child.op == Op::kIntConst || child.op == Op::kIntScale) &&
      !__builtin_mul_overflow(factor, child.value, &product)) {
    if (child.op == Op::kIntConst) return Int(product);
    return IntScale(product, child.args[0]);
  }
  Node result = MakeNode(Op::kIntScale, {a});
  result.value = factor;
  return AddNode(std::move(result));
}

ExprId IndexFunctionBuilder::IntDiv(ExprId a, int64_t divisor) {
  const Node& child = node(a);
  if (divisor == 1) return a;
  if (divisor > 0) {
    if (child.op == Op::kIntConst) return Int(FloorDiv(child.value, divisor));
    if (child.op == Op::kIndex && function_.vars.at(child.var).extent <= divisor) return Int(0);
  }
  Node result = MakeNode(Op::kIntDiv, {a});
  result.value = divisor;
  return AddNode(std::move(result));
}

ExprId IndexFunctionBuilder::IntMod(ExprId a, int64_t divisor) {
  const Node& child = node(a);
  if (divisor == 1) return Int(0);
  if (divisor > 0) {
    if (child.op == Op::kIntConst) {
      return Int(child.value - divisor * FloorDiv(child.value, divisor));
    }
    if (child.op == Op::kIndex && function_.vars.at(child.var).extent <= divisor) return a;
  }
  Node result = MakeNode(Op::kIntMod, {a});
  result.value = divisor;
  return AddNode(std::move(result));
}

ExprId IndexFunctionBuilder::IntElement(int input, const std::vector<ExprId>& indices) {
  Node node = MakeNode(Op::kIntElement, {});
  node.input = input;
  node.args.assign(indices.begin(), indices.end());
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Real(solver::Rational value) {
  Node node = MakeNode(Op::kReal, {});
  node.real = std::move(value);
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::NegInf() { return AddNode(MakeNode(Op::kNegInf, {})); }

ExprId IndexFunctionBuilder::Element(int input, const std::vector<ExprId>& indices) {
  Node node = MakeNode(Op::kElement, {});
  node.input = input;
  node.args.assign(indices.begin(), indices.end());
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Unary(Op op, ExprId a, TieRule tie) {
  Node node = MakeNode(op, {a});
  node.tie = tie;
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Binary(Op op, ExprId a, ExprId b, TieRule tie) {
  Node node = MakeNode(op, {a, b});
  node.tie = tie;
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Pow(ExprId a, solver::Rational exponent) {
  Node node = MakeNode(Op::kPow, {a});
  node.real = std::move(exponent);
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Select(ExprId cond, ExprId a, ExprId b) {
  return AddNode(MakeNode(Op::kSelect, {cond, a, b}));
}

ExprId IndexFunctionBuilder::Reduce(Op op, VarId var, ExprId body, TieRule tie) {
  Node node = MakeNode(op, {body});
  node.var = var;
  node.tie = tie;
  return AddNode(std::move(node));
}

ExprId IndexFunctionBuilder::Opaque(std::string name, bool int_valued, VarId row,
                                    const std::vector<ExprId>& args) {
  Node node = MakeNode(Op::kOpaque, {});
  node.name = std::move(name);
  node.int_valued = int_valued;
  node.var = row;
  node.args.assign(args.begin(), args.end());
  return AddNode(std::move(node));
}

absl::Status IndexFunctionBuilder::Finish(IndexFunction* out) {
  if (RootsExist(function_)) DropUnused(&function_);  // otherwise the check says what is missing
  if (absl::Status status = CheckIndexFunction(function_); !status.ok()) return status;
  *out = std::move(function_);
  function_ = IndexFunction();
  sharing_ = std::make_shared<Sharing>();
  return absl::OkStatus();
}

ExprId FromLeavesUp(const IndexFunction& function, ExprId root,
                    absl::FunctionRef<ExprId(ExprId id, const std::vector<ExprId>& done)> visit) {
  std::vector<bool> used(root + 1, false);
  used[root] = true;
  for (ExprId id = root; id >= 0; --id) {
    if (!used[id]) continue;
    for (ExprId arg : function.nodes[id].args) used[arg] = true;
  }
  std::vector<ExprId> done(root + 1, kNoExpr);
  for (ExprId id = 0; id <= root; ++id) {
    if (used[id]) done[id] = visit(id, done);
  }
  return done[root];
}

bool CanBeUndefined(const IndexFunction& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& n) {
    const bool root = n.op == Op::kPow && (!n.real.IsInteger() || n.real.Sign() < 0);
    return n.op == Op::kDiv || n.op == Op::kLog || root;
  });
}

}  // namespace planproof::sdfg
