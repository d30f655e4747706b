// Canonical bytes of an index function.
//
// Nodes are written in depth-first post-order from the outputs and premises, variables are numbered
// by first appearance, so the order in which a function was built does not show. Every record
// starts with its counts, so that different functions never give equal bytes.
#include <string>
#include <utility>
#include <vector>

#include "sdfg/index_function.h"

namespace planproof::sdfg {
namespace {

class Serializer {
 public:
  explicit Serializer(const IndexFunction& function)
      : f_(function),
        node_number_(function.nodes.size(), -1),
        var_number_(function.vars.size(), -1) {}

  std::string Run() {
    PutCount(f_.inputs.size());
    for (const FunctionInput& input : f_.inputs) {
      PutCount(input.shape.size());
      for (int64_t extent : input.shape) PutInt(extent);
      PutInt(static_cast<int>(input.dtype));
    }
    PutCount(f_.outputs.size());
    for (const FunctionOutput& output : f_.outputs) {
      PutCount(output.dims.size());
      for (VarId var : output.dims) PutVar(var);
      PutInt(static_cast<int>(output.dtype));
      PutInt(output.stop_gradient);
    }
    for (const FunctionOutput& output : f_.outputs) PutExpression(output.body);
    PutCount(f_.premises.size());
    for (const FunctionPremise& premise : f_.premises) {
      PutInt(premise.output);
      PutExpression(premise.condition);
      PutText(premise.text);
    }
    PutCount(f_.assumptions.size());
    for (const std::string& assumption : f_.assumptions) PutText(assumption);
    return std::move(bytes_);
  }

 private:
  // Seven bits a byte, lowest first, the sign in the lowest bit.
  void PutInt(int64_t value) {
    uint64_t bits = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; bits >= 0x80; bits >>= 7) bytes_.push_back(static_cast<char>(0x80 | (bits & 0x7f)));
    bytes_.push_back(static_cast<char>(bits));
  }
  void PutCount(size_t count) { PutInt(static_cast<int64_t>(count)); }
  void PutText(const std::string& text) {
    PutCount(text.size());
    bytes_ += text;
  }
  // The number of the variable; its extent follows where it appears first.
  void PutVar(VarId var) {
    if (var < 0) {
      PutInt(-1);
      return;
    }
    if (var_number_[var] >= 0) {
      PutInt(var_number_[var]);
      return;
    }
    var_number_[var] = next_var_++;
    PutInt(var_number_[var]);
    PutInt(f_.vars[var].extent);
  }

  void PutNode(const Node& node) {
    PutInt(static_cast<int>(node.op));
    PutInt(static_cast<int>(node.tie));
    PutInt(node.int_valued);
    PutVar(node.var);
    PutInt(node.input);
    PutInt(node.value);
    const bool has_real = node.op == Op::kReal || node.op == Op::kPow;
    PutText(has_real ? node.real.ToString() : std::string());
    PutText(node.name);
    PutCount(node.args.size());
    for (ExprId arg : node.args) PutInt(node_number_[arg]);
  }

  // Writes the nodes below `root` that were not written yet, then -1 and
  // the number of the root.
  void PutExpression(ExprId root) {
    std::vector<std::pair<ExprId, size_t>> stack;  // node, next argument to visit
    if (node_number_[root] < 0) stack.push_back({root, 0});
    while (!stack.empty()) {
      const ExprId id = stack.back().first;
      const Node& node = f_.nodes[id];
      if (stack.back().second < node.args.size()) {
        const ExprId arg = node.args[stack.back().second++];
        if (node_number_[arg] < 0) stack.push_back({arg, 0});
        continue;
      }
      stack.pop_back();
      if (node_number_[id] >= 0) continue;
      PutNode(node);
      node_number_[id] = next_node_++;
    }
    PutInt(-1);  // no operator: the expression ends
    PutInt(node_number_[root]);
  }

  const IndexFunction& f_;
  std::string bytes_;
  std::vector<int32_t> node_number_;
  std::vector<int32_t> var_number_;
  int32_t next_node_ = 0;
  int32_t next_var_ = 0;
};

}  // namespace

std::string IndexFunction::Serialize() const { return Serializer(*this).Run(); }

}  // namespace planproof::sdfg
