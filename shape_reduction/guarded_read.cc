#include "shape_reduction/guarded_read.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace planproof::shape_reduction {
namespace {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;

constexpr VarId kFirst = -1;  // an index that is 0, as all are where the extent is 1

// The variables at which the element is read, if each index is 0 or a variable that is no other
// index.
std::optional<std::vector<VarId>> VariablesOf(const ScalarProgram& program, const Node& element) {
  std::vector<VarId> vars;
  for (const ExprId arg : element.args) {
    const IndexForm& form = program.forms[arg];
    if (form.overflow || form.constant != 0 || !form.atoms.empty()) return std::nullopt;
    if (form.terms.empty()) {
      vars.push_back(kFirst);
      continue;
    }
    const DigitTerm& term = form.terms[0];
    if (form.terms.size() > 1 || term.div != 1 || term.scale != 1 ||
        term.extent != program.vars[term.var].extent ||
        std::find(vars.begin(), vars.end(), term.var) != vars.end()) {
      return std::nullopt;
    }
    vars.push_back(term.var);
  }
  return vars;
}

// Whether elements that are read there are those of the output with these dimensions, index by
// index.
bool ReadsAll(const std::vector<VarId>& read, const ScalarProgram& program) {
  if (read.size() != program.dims.size()) return false;
  for (size_t d = 0; d < read.size(); ++d) {
    const VarId dim = program.dims[d];
    if (read[d] != dim && !(read[d] == kFirst && program.vars[dim].extent == 1)) return false;
  }
  return true;
}

constexpr int kMostSteps = 256;  // through selections; a program with more is left alone

// Whether the node is this input's element with the indices of the output; -1: any input's.
bool Keeps(const ScalarProgram& program, ExprId id, int input) {
  const Node& element = program.nodes[id];
  if (element.op != Op::kElement || (input >= 0 && element.input != input)) return false;
  const auto vars = VariablesOf(program, element);
  return vars && ReadsAll(*vars, program);
}

// The same expression in both, where `vars[d]` of the reader is `dims[d]` of the producer.
class SameExpression {
 public:
  SameExpression(const ScalarProgram& reader, const std::vector<sdfg::TensorId>& reader_inputs,
                 const std::vector<VarId>& vars, const ScalarProgram& producer,
                 const std::vector<sdfg::TensorId>& producer_inputs)
      : reader_(reader),
        reader_inputs_(reader_inputs),
        vars_(vars),
        producer_(producer),
        producer_inputs_(producer_inputs) {}

  bool operator()(ExprId at, ExprId produced) const {
    const Node& a = reader_.nodes[at];
    const Node& b = producer_.nodes[produced];
    if (a.op != b.op || a.args.size() != b.args.size() || a.value != b.value) return false;
    switch (a.op) {
      case Op::kIndex:
        return Corresponds(a.var, b.var);
      case Op::kElement:
      case Op::kIntElement:
        if (reader_inputs_[a.input] != producer_inputs_[b.input]) return false;
        break;
      case Op::kReal:
      case Op::kPow:
        if (!(a.real == b.real)) return false;
        break;
      case Op::kSum:  // variables of their own
      case Op::kReduceMax:
      case Op::kReduceMin:
      case Op::kOpaque:
        return false;
      default:
        break;
    }
    for (size_t k = 0; k < a.args.size(); ++k) {
      if (!(*this)(a.args[k], b.args[k])) return false;
    }
    return true;
  }

 private:
  bool Corresponds(VarId var, VarId produced) const {
    for (size_t d = 0; d < vars_.size(); ++d) {
      if (vars_[d] == var) return producer_.dims[d] == produced;
    }
    return false;
  }

  const ScalarProgram& reader_;
  const std::vector<sdfg::TensorId>& reader_inputs_;
  const std::vector<VarId>& vars_;
  const ScalarProgram& producer_;
  const std::vector<sdfg::TensorId>& producer_inputs_;
};

// Whether the reader's variables are those of the producer's output, one by one.
bool FitTogether(const ScalarProgram& reader, const std::vector<VarId>& vars,
                 const ScalarProgram& producer) {
  if (vars.size() != producer.dims.size()) return false;
  for (size_t d = 0; d < vars.size(); ++d) {
    const int64_t extent = producer.vars[producer.dims[d]].extent;
    if (vars[d] == kFirst ? extent != 1 : reader.vars[vars[d]].extent > extent) return false;
  }
  return true;
}

using Parents = std::vector<std::vector<std::pair<ExprId, int>>>;  // by node: who has it as which

bool IsBranch(const ScalarProgram& program, const std::pair<ExprId, int>& parent) {
  return program.nodes[parent.first].op == Op::kSelect && parent.second > 0;
}

// One element that the reader reads of what the producer made.
class Read {
 public:
  Read(const ScalarProgram& reader, const Parents& parents, const SameExpression& same,
       const ScalarProgram& producer, int kept)
      : reader_(reader), parents_(parents), same_(same), producer_(producer), kept_(kept) {}

  // Whether, wherever the node's value is taken, the producer selects what it keeps.
  bool IsGuarded(ExprId id) {
    if (++steps_ > kMostSteps) return false;
    if (!known_.empty() && IsKept(producer_.body)) return true;
    if (id == reader_.body) return false;
    for (const auto& parent : parents_[id]) {
      if (!IsBranch(reader_, parent)) return false;
      known_.push_back({reader_.nodes[parent.first].args[0], parent.second});
      const bool guarded = IsGuarded(parent.first);
      known_.pop_back();
      if (!guarded) return false;
    }
    return true;
  }

 private:
  // Under the conditions that are known.
  bool IsKept(ExprId id) {
    if (++steps_ > kMostSteps) return false;
    const Node& node = producer_.nodes[id];
    if (node.op != Op::kSelect) return Keeps(producer_, id, kept_);
    for (const auto& [condition, branch] : known_) {
      if (same_(condition, node.args[0])) return IsKept(node.args[branch]);
    }
    return IsKept(node.args[1]) && IsKept(node.args[2]);
  }

  const ScalarProgram& reader_;
  const Parents& parents_;
  const SameExpression& same_;
  const ScalarProgram& producer_;
  const int kept_;
  std::vector<std::pair<ExprId, int>> known_;  // the reader's conditions, and the branch taken
  int steps_ = 0;
};

}  // namespace

int KeptInput(const ScalarProgram& producer) {
  std::vector<ExprId> next = {producer.body};
  for (int step = 0; !next.empty() && step < kMostSteps; ++step) {
    const ExprId id = next.back();
    next.pop_back();
    const Node& node = producer.nodes[id];
    if (node.op == Op::kSelect) {
      next.insert(next.end(), {node.args[2], node.args[1]});
    } else if (id != producer.body && Keeps(producer, id, -1)) {
      return node.input;
    }
  }
  return -1;
}

bool IsGuardedAlike(const ScalarProgram& reader, const std::vector<sdfg::TensorId>& reader_inputs,
                    int input, const ScalarProgram& producer,
                    const std::vector<sdfg::TensorId>& producer_inputs) {
  const auto reads = [&](ExprId id) {
    const Node& node = reader.nodes[id];
    return (node.op == Op::kElement || node.op == Op::kIntElement) && node.input == input;
  };
  Parents parents(reader.nodes.size());
  std::vector<ExprId> read;
  for (size_t id = 0; id < reader.nodes.size(); ++id) {
    if (reads(static_cast<ExprId>(id))) read.push_back(static_cast<ExprId>(id));
    for (size_t k = 0; k < reader.nodes[id].args.size(); ++k) {
      const std::pair<ExprId, int> parent(static_cast<ExprId>(id), static_cast<int>(k));
      parents[reader.nodes[id].args[k]].push_back(parent);
      if (reads(reader.nodes[id].args[k]) && !IsBranch(reader, parent)) return false;
    }
  }
  const int kept = KeptInput(producer);
  for (const ExprId id : read) {
    const auto vars = VariablesOf(reader, reader.nodes[id]);
    if (!vars || !FitTogether(reader, *vars, producer)) return false;
    const SameExpression same(reader, reader_inputs, *vars, producer, producer_inputs);
    if (!Read(reader, parents, same, producer, kept).IsGuarded(id)) return false;
  }
  return !read.empty() && kept >= 0;
}

namespace {

// The program with nodes added at the end.
class Extended {
 public:
  explicit Extended(const ScalarProgram& program) : result(program) {}

  // The selection with another input where it keeps `kept`.
  ExprId Replace(ExprId id, int kept, int with) {
    if (++steps_ > kMostSteps) return id;
    Node node = result.nodes[id];
    if (node.op == Op::kSelect) {
      for (const int branch : {1, 2}) node.args[branch] = Replace(node.args[branch], kept, with);
    } else if (Keeps(result, id, kept)) {
      node.input = with;
    } else {
      return id;
    }
    result.nodes.push_back(std::move(node));
    result.forms.push_back(result.forms[id]);
    result.from_data.push_back(result.from_data[id]);
    result.integer.push_back(result.integer[id]);
    for (std::vector<IndexForm>& forms : result.case_forms) forms.push_back(forms[id]);
    return static_cast<ExprId>(result.nodes.size() - 1);
  }

  ScalarProgram result;

 private:
  int steps_ = 0;
};

}  // namespace

ScalarProgram WithKeptInput(const ScalarProgram& producer) {
  Extended extended(producer);
  const int kept = KeptInput(producer), added = static_cast<int>(producer.input_ranks.size());
  extended.result.input_ranks.push_back(producer.input_ranks[kept]);
  extended.result.body = extended.Replace(producer.body, kept, added);
  return std::move(extended.result);
}

}  // namespace planproof::shape_reduction
