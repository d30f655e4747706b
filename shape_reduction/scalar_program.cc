#include "shape_reduction/scalar_program.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "shape_reduction/kronecker.h"

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

namespace {

void AppendBytes(int64_t value, std::string* key) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string KeyOf(const Node& node) {
  std::string key;
  key.push_back(static_cast<char>(node.op));
  key.push_back(static_cast<char>(node.tie));
  key.push_back(static_cast<char>(node.int_valued));
  AppendBytes(node.var, &key);
  AppendBytes(node.input, &key);
  AppendBytes(node.value, &key);
  for (ExprId arg : node.args) AppendBytes(arg, &key);
  if (node.op == Op::kReal || node.op == Op::kPow) key += node.real.ToString();
  key += node.name;
  return key;
}

// Ids that the roots need, marked.
std::vector<char> Reachable(const std::vector<Node>& nodes, const std::vector<ExprId>& roots) {
  std::vector<char> used(nodes.size(), 0);
  for (ExprId root : roots) used[root] = 1;
  for (size_t id = nodes.size(); id-- > 0;) {
    if (!used[id]) continue;
    for (ExprId arg : nodes[id].args) used[arg] = 1;
  }
  return used;
}

constexpr int64_t kMaxCaseModulus = 16;
constexpr int64_t kMaxCases = 64;

// Fills case_digits and case_forms.
void SplitCarries(ScalarProgram* program) {
  std::map<VarId, int64_t> moduli;
  for (size_t id = 0; id < program->nodes.size(); ++id) {
    const Node& node = program->nodes[id];
    const IndexForm& form = program->forms[id];
    const bool division = node.op == Op::kIntDiv || node.op == Op::kIntMod;
    if (!division || form.atoms.size() != 1 || form.atoms[0].second != static_cast<ExprId>(id)) {
      continue;
    }
    for (const DigitTerm& t : program->forms[node.args[0]].terms) {
      if (t.scale % node.value == 0 || t.div != 1) continue;
      const int64_t modulus = node.value / std::gcd(node.value, t.scale);
      int64_t& joint = moduli.try_emplace(t.var, 1).first->second;
      const int64_t lcm = std::lcm(joint, modulus <= kMaxCaseModulus ? modulus : 1);
      if (lcm <= kMaxCaseModulus && program->vars[t.var].extent % lcm == 0) joint = lcm;
    }
  }
  int64_t cases = 1;
  for (const auto& [var, modulus] : moduli) {
    if (modulus == 1 || cases * modulus > kMaxCases) continue;
    cases *= modulus;
    program->case_digits.push_back({var, modulus});
  }
  for (int64_t k = 0; cases > 1 && k < cases; ++k) {
    std::map<VarId, IndexForm> fixed;
    int64_t rest = k;
    for (const auto& [var, modulus] : program->case_digits) {
      IndexForm& form = fixed[var];
      form.constant = rest % modulus;
      rest /= modulus;
      const int64_t above = program->vars[var].extent / modulus;
      if (above > 1) form.terms.push_back({var, modulus, above, modulus});
    }
    std::vector<IndexForm> forms;
    for (const Node& node : program->nodes) {
      const ExprId id = static_cast<ExprId>(forms.size());
      const auto it = node.op == Op::kIndex ? fixed.find(node.var) : fixed.end();
      forms.push_back(it != fixed.end() ? it->second : FormOf(node, id, forms, program->vars));
    }
    program->case_forms.push_back(std::move(forms));
  }
}

}  // namespace

ExprId NodePool::Add(Node node) {
  const auto [it, added] = ids_.try_emplace(KeyOf(node), static_cast<ExprId>(nodes_.size()));
  if (added) {
    const ExprId id = it->second;
    forms_.push_back(FormOf(node, id, forms_, vars));
    nodes_.push_back(std::move(node));
  }
  return it->second;
}

ExprId NodePool::Int(int64_t value) {
  Node node{.op = Op::kIntConst};
  node.value = value;
  return Add(std::move(node));
}

ExprId NodePool::Real(int64_t value) {
  Node node{.op = Op::kReal};
  node.real = solver::Rational(value);
  return Add(std::move(node));
}

ExprId NodePool::Make(Op op, const std::vector<ExprId>& args) {
  Node node{.op = op};
  node.args.assign(args.begin(), args.end());
  return Add(std::move(node));
}

ExprId NodePool::FromForm(const IndexForm& form) {
  std::vector<ExprId> summands;
  auto add_scaled = [&](ExprId id, int64_t scale) {
    if (scale == 1) return summands.push_back(id);
    Node node{.op = Op::kIntScale};
    node.value = scale;
    node.args.push_back(id);
    summands.push_back(Add(std::move(node)));
  };
  auto with_value = [&](Op op, ExprId id, int64_t value) {
    Node node{.op = op};
    node.value = value;
    node.args.push_back(id);
    return Add(std::move(node));
  };
  for (const DigitTerm& t : form.terms) {
    Node index{.op = Op::kIndex};
    index.var = t.var;
    ExprId id = Add(std::move(index));
    if (t.div > 1) id = with_value(Op::kIntDiv, id, t.div);
    if (t.extent < (vars[t.var].extent + t.div - 1) / t.div) {
      id = with_value(Op::kIntMod, id, t.extent);
    }
    add_scaled(id, t.scale);
  }
  for (const auto& [scale, atom] : form.atoms) add_scaled(atom, scale);
  if (form.constant != 0 || summands.empty()) summands.push_back(Int(form.constant));
  ExprId sum = summands[0];
  for (size_t i = 1; i < summands.size(); ++i) sum = Make(Op::kIntAdd, {sum, summands[i]});
  return sum;
}

ExprId NodePool::Substitute(ExprId root, VarId var, ExprId replacement) {
  std::vector<char> used = Reachable({nodes_.begin(), nodes_.begin() + root + 1}, {root});
  std::vector<ExprId> now(root + 1, sdfg::kNoExpr);
  for (ExprId id = 0; id <= root; ++id) {
    if (!used[id]) continue;
    if (nodes_[id].op == Op::kIndex) {
      now[id] = nodes_[id].var == var ? replacement : id;
      continue;
    }
    bool changed = false;
    for (ExprId arg : nodes_[id].args) changed |= now[arg] != arg;
    if (!changed) {
      now[id] = id;
      continue;
    }
    Node node = nodes_[id];
    for (ExprId& arg : node.args) arg = now[arg];
    now[id] = Add(std::move(node));
  }
  return now[root];
}

ScalarProgram BuildProgram(const sdfg::IndexFunction& function, int output,
                           const std::vector<std::pair<sdfg::AxisId, int64_t>>& output_axes,
                           const std::vector<std::vector<sdfg::AxisId>>& input_axes) {
  NodePool pool;
  pool.vars = function.vars;
  ScalarProgram program;
  auto axis_var = [&](sdfg::AxisId axis) {
    for (size_t i = 0; i < output_axes.size(); ++i) {
      if (output_axes[i].first == axis) return static_cast<VarId>(function.vars.size() + i);
    }
    return static_cast<VarId>(-1);
  };
  for (const auto& [axis, extent] : output_axes) {
    program.dims.push_back(static_cast<VarId>(pool.vars.size()));
    pool.vars.push_back({"axis" + std::to_string(axis), extent});
  }
  const sdfg::FunctionOutput& out = function.outputs[output];
  program.dims.insert(program.dims.end(), out.dims.begin(), out.dims.end());
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const size_t coordinates = i < input_axes.size() ? input_axes[i].size() : 0;
    program.input_ranks.push_back(static_cast<int>(function.inputs[i].shape.size() + coordinates));
  }

  std::vector<ExprId> roots = {out.body};
  for (const sdfg::FunctionPremise& premise : function.premises) {
    if (premise.output == output) roots.push_back(premise.condition);
  }
  const std::vector<char> used = Reachable(function.nodes, roots);
  // Of nested sums only the outermost is simplified: it sees all their conditions together.
  std::vector<char> below_sum_only(function.nodes.size(), 1);
  for (size_t id = 0; id < function.nodes.size(); ++id) {
    if (!used[id] || function.nodes[id].op == Op::kSum) continue;
    for (ExprId arg : function.nodes[id].args) below_sum_only[arg] = 0;
  }
  for (ExprId root : roots) below_sum_only[root] = 0;
  std::vector<ExprId> now(function.nodes.size(), sdfg::kNoExpr);
  for (size_t id = 0; id < function.nodes.size(); ++id) {
    if (!used[id]) continue;
    Node node = function.nodes[id];
    for (ExprId& arg : node.args) arg = now[arg];
    const bool read = node.op == Op::kElement || node.op == Op::kIntElement;
    if (read && static_cast<size_t>(node.input) < input_axes.size()) {
      absl::InlinedVector<ExprId, 3> args;
      for (sdfg::AxisId axis : input_axes[node.input]) {
        Node index{.op = Op::kIndex};
        index.var = axis_var(axis);
        args.push_back(pool.Add(std::move(index)));
      }
      args.insert(args.end(), node.args.begin(), node.args.end());
      node.args = std::move(args);
    }
    now[id] = node.op == Op::kSum && !below_sum_only[id]
                  ? EliminateKronecker(node.var, node.args[0], &pool)
                  : pool.Add(std::move(node));
  }
  for (ExprId& root : roots) root = now[root];

  // Keep what the roots need.
  const std::vector<char> kept = Reachable(pool.nodes(), roots);
  std::vector<ExprId> compact(pool.nodes().size(), sdfg::kNoExpr);
  program.vars = pool.vars;
  for (size_t id = 0; id < pool.nodes().size(); ++id) {
    if (!kept[id]) continue;
    compact[id] = static_cast<ExprId>(program.nodes.size());
    Node node = pool[static_cast<ExprId>(id)];
    for (ExprId& arg : node.args) arg = compact[arg];
    program.forms.push_back(FormOf(node, compact[id], program.forms, program.vars));
    program.from_data.push_back(node.op == Op::kElement || node.op == Op::kIntElement ||
                                node.op == Op::kOpaque);
    for (ExprId arg : node.args) program.from_data.back() |= program.from_data[arg];
    program.integer.push_back(node.op == Op::kSelect
                                  ? program.integer[node.args[1]]
                                  : node.op <= Op::kIntElement ||
                                        (node.op == Op::kOpaque && node.int_valued));
    program.nodes.push_back(std::move(node));
  }
  SplitCarries(&program);
  program.body = compact[roots[0]];
  for (size_t i = 1, k = 0; k < function.premises.size(); ++k) {
    if (function.premises[k].output != output) continue;
    program.premises.push_back({compact[roots[i++]], function.premises[k].text});
  }
  program.int_valued = program.integer[program.body] != 0;
  return program;
}

}  // namespace planproof::shape_reduction
