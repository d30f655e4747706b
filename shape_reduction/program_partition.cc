#include "shape_reduction/program_partition.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace planproof::shape_reduction {

using sdfg::ExprId;
using sdfg::Node;
using sdfg::Op;

namespace {

// More different ids than this, and the variable they are compared with is cut at every value.
constexpr size_t kMaxIdCuts = 256;
// Comparisons of variables whose extents multiply to at most this are always cut.
constexpr int64_t kSmallSquare = 1024;

class Derivation {
 public:
  Derivation(const ScalarProgram& program, const std::vector<InputBlocks>& inputs,
             LooseComparisons* loose)
      : program_(program), inputs_(inputs), loose_(loose), partitions_(program.vars) {}

  std::vector<DimPartition> Run() {
    for (const auto& [var, modulus] : program_.case_digits) {
      std::vector<int64_t> all(modulus);
      std::iota(all.begin(), all.end(), 0);
      partitions_.RefineVariable(
          var, DimPartition::WithDigitCuts(program_.vars[var].extent, 1, modulus, all));
    }
    const size_t cases = std::max<size_t>(program_.case_forms.size(), 1);
    for (size_t k = 0; k < cases; ++k) {
      forms_ = program_.case_forms.empty() ? &program_.forms : &program_.case_forms[k];
      for (size_t id = 0; id < program_.nodes.size(); ++id) {
        if (!LeftLoose(id)) Visit(program_.nodes[id]);
      }
      if (program_.int_valued) Exact(Form(program_.body));
    }
    for (sdfg::VarId var : compared_) {
      if (loose_->otherwise == nullptr || partitions_[var].blocks() > 1) continue;
      const auto cut = loose_->otherwise->find(program_.vars[var].extent);
      if (cut != loose_->otherwise->end()) partitions_.RefineVariable(var, *cut->second);
    }
    std::vector<DimPartition> result;
    for (size_t v = 0; v < program_.vars.size(); ++v) {
      result.push_back(partitions_[static_cast<sdfg::VarId>(v)]);
    }
    return result;
  }

 private:
  // Marks a comparison of long dimensions with each other, where that is wanted.
  bool LeftLoose(size_t id) {
    const Node& node = program_.nodes[id];
    if (loose_ == nullptr || (node.op != Op::kIntLess && node.op != Op::kIntLessEq)) return false;
    const IndexForm difference =
        AddForms(Form(node.args[0]), Form(node.args[1]), -1, program_.vars);
    if (difference.overflow || !difference.atoms.empty() || difference.terms.size() < 2) {
      return false;
    }
    int64_t points = 1;
    bool several = false;
    for (const DigitTerm& term : difference.terms) {
      several |= term.var != difference.terms[0].var;
      points = std::min(points * std::min(term.extent, kSmallSquare), 2 * kSmallSquare);
    }
    if (!several || points <= kSmallSquare) return false;
    loose_->nodes[id] = 1;
    for (const DigitTerm& term : difference.terms) compared_.insert(term.var);
    return true;
  }

  void Visit(const Node& node) {
    switch (node.op) {
      case Op::kElement:
      case Op::kIntElement:
        for (size_t d = 0; d < node.args.size(); ++d) {
          partitions_.PullBlock(Form(node.args[d]), *inputs_[node.input].dims[d],
                                [this](ExprId atom) { ExactAtom(atom); });
        }
        break;
      case Op::kPosition:
        Exact(Form(node.args[0]));
        break;
      case Op::kIntLess:
        Compare(node.args[0], node.args[1], {0});
        break;
      case Op::kIntLessEq:
        Compare(node.args[0], node.args[1], {1});
        break;
      case Op::kIntEq:
        Compare(node.args[0], node.args[1], {0, 1});
        break;
      case Op::kNonzero:
        if (IsInteger(node.args[0])) Compare(node.args[0], sdfg::kNoExpr, {0, 1});
        break;
      case Op::kOpaque:
        if (node.var >= 0) {
          partitions_.RefineVariable(node.var, DimPartition::Full(program_.vars[node.var].extent));
        }
        for (ExprId arg : node.args) {
          if (IsInteger(arg)) Exact(Form(arg));
        }
        break;
      default:
        break;
    }
  }

  const IndexForm& Form(ExprId id) const { return (*forms_)[id]; }

  bool IsInteger(ExprId id) const { return program_.integer[id] != 0; }

  void ExactAtom(ExprId atom) {
    std::vector<ExprId> open = {atom};
    while (!open.empty()) {
      const Node& node = program_.nodes[open.back()];
      open.pop_back();
      if (node.op == Op::kIndex) {  // of an extent that has no form
        partitions_.RefineVariable(node.var, DimPartition::Full(program_.vars[node.var].extent));
      }
      // Elements and opaque values are constant on blocks already, by their own arguments.
      if (node.op == Op::kIntElement || node.op == Op::kWhole || node.op == Op::kOpaque) continue;
      for (ExprId arg : node.args) {
        partitions_.PullExact(Form(arg));
        for (const auto& inner : Form(arg).atoms) open.push_back(inner.second);
      }
    }
  }

  void Exact(const IndexForm& form) {
    for (const auto& atom : form.atoms) ExactAtom(atom.second);
    partitions_.PullExact(form);
  }

  // The values of scale * atom over all blocks, if there are few.
  std::optional<std::vector<int64_t>> AtomValues(int64_t scale, ExprId atom) const {
    const Node& node = program_.nodes[atom];
    if (node.op != Op::kIntElement || inputs_[node.input].ints == nullptr) return std::nullopt;
    std::vector<int64_t> values = *inputs_[node.input].ints;
    std::erase_if(values, [](int64_t value) { return !IsKnownInt(value); });
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() > kMaxIdCuts) return std::nullopt;
    for (int64_t& value : values) {
      if (__builtin_mul_overflow(value, scale, &value)) return std::nullopt;
    }
    return values;
  }

  // Makes the truth of a - b >= cut constant for each cut.
  void Compare(ExprId a, ExprId b, std::vector<int64_t> cuts) {
    IndexForm difference = Form(a);
    if (b != sdfg::kNoExpr) {
      difference = AddForms(difference, Form(b), -1, program_.vars);
    }
    if (difference.overflow) {
      Exact(Form(a));
      if (b != sdfg::kNoExpr) Exact(Form(b));
      return;
    }
    if (difference.atoms.empty()) return partitions_.PullCuts(difference, cuts);
    for (const auto& atom : difference.atoms) ExactAtom(atom.second);
    IndexForm terms = difference;
    terms.atoms.clear();
    if (terms.terms.empty()) return;
    std::optional<std::vector<int64_t>> values;
    if (difference.atoms.size() == 1) {
      values = AtomValues(difference.atoms[0].first, difference.atoms[0].second);
    }
    if (!values) return partitions_.PullExact(terms);
    std::vector<int64_t> shifted;
    for (int64_t value : *values) {
      for (int64_t cut : cuts) {
        int64_t point;
        if (!__builtin_sub_overflow(cut, value, &point)) shifted.push_back(point);
      }
    }
    partitions_.PullCuts(terms, shifted);
  }

  const ScalarProgram& program_;
  const std::vector<InputBlocks>& inputs_;
  LooseComparisons* loose_;
  std::set<sdfg::VarId> compared_;  // in loose comparisons
  const std::vector<IndexForm>* forms_ = nullptr;
  VariablePartitions partitions_;
};

}  // namespace

std::vector<DimPartition> DerivePartitions(const ScalarProgram& program,
                                           const std::vector<InputBlocks>& inputs,
                                           LooseComparisons* loose) {
  if (loose != nullptr) loose->nodes.assign(program.nodes.size(), 0);
  return Derivation(program, inputs, loose).Run();
}

}  // namespace planproof::shape_reduction
