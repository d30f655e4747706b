// Faults of what operators read: other rows, stale tensors, the layers of another stage.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mutation/plan_faults.h"

namespace planproof::mutation {
namespace {

plan::AttributeValue* AttributeOf(plan::Operator* op, const std::string& name) {
  for (plan::Attribute& attribute : *op->mutable_attributes()) {
    if (attribute.name() == name) return attribute.mutable_value();
  }
  return nullptr;
}

// TT1: the mask of a vocabulary-parallel embedding is inverted: a rank gives the rows of its table
// to the tokens of the next rank, and none to its own.
absl::StatusOr<Mutation> InvertedMask(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto axis_at = [&](Place at) -> std::string {
    const plan::Operator& op = editor.op(at);
    if (op.op() != "embedding" || op.inputs_size() != 2 || editor.IsBackward(at)) return "";
    const std::vector<std::string> cut =
        CutOver(editor.ClaimOf(at.program, op.inputs(1).tensor()), 0);
    return cut.size() == 1 && AttributeOf(&editor.op(at), "stop") != nullptr ? cut[0] : "";
  };
  const auto at = editor.Choose(seed, "an embedding whose rows are cut over ranks",
                                [&](Place place) { return !axis_at(place).empty(); });
  if (!at.ok()) return at.status();
  const std::string axis = axis_at(*at);
  plan::Operator& op = editor.op(*at);
  const int64_t rows = editor.LocalShape(at->program, op.inputs(1).tensor())[0];
  const std::string start = absl::StrCat("(", axis, " + 1) % ", editor.Extent(axis), " * ", rows);
  AttributeOf(&op, "start")->set_expression(start);
  AttributeOf(&op, "stop")->set_expression(absl::StrCat(start, " + ", rows));
  return editor.Done(kind, {*at}, "takes the tokens of the next rank for its own");
}

bool SameAttributes(const plan::Operator& a, const plan::Operator& b) {
  return std::equal(a.attributes().begin(), a.attributes().end(), b.attributes().begin(),
                    b.attributes().end(), [](const plan::Attribute& x, const plan::Attribute& y) {
                      return x.SerializeAsString() == y.SerializeAsString();
                    });
}

// The operator runs again what an earlier one has computed from the same operands.
bool RunsAgain(const PlanEditor& editor, Place at) {
  const plan::Operator& op = editor.op(at);
  if (!op.backward().empty() || op.has_collective() || op.inputs_size() == 0) return false;
  for (int i = 0; i < at.op; ++i) {
    const plan::Operator& earlier = editor.op({at.program, i});
    if (earlier.op() != op.op() || earlier.inputs_size() != op.inputs_size() ||
        !SameAttributes(earlier, op)) {
      continue;
    }
    bool same = true;
    for (int k = 0; k < op.inputs_size(); ++k) {
      same &= op.inputs(k).SerializeAsString() == earlier.inputs(k).SerializeAsString();
    }
    if (same) return true;
  }
  return false;
}

// Another tensor of the forward pass that could stand in the place of `tensor`: it has its shape
// and is claimed to be cut as it is.
std::string StaleTensor(const PlanEditor& editor, int program, const std::string& tensor) {
  const plan::Relation* right = editor.ClaimOf(program, tensor);
  if (right == nullptr) return "";
  for (const plan::Operator& op : editor.program(program).operators()) {
    if (op.outputs_size() != 1 || op.outputs(0) == tensor) continue;
    const plan::Relation* claim = editor.ClaimOf(program, op.outputs(0));
    if (claim == nullptr || claim->partial_size() > 0 || claim->has_map() != right->has_map() ||
        editor.IsGradient(program, op.outputs(0)) ||
        editor.LocalShape(program, op.outputs(0)) != editor.LocalShape(program, tensor)) {
      continue;
    }
    bool alike = claim->dims_size() == right->dims_size();
    for (int d = 0; alike && d < claim->dims_size(); ++d) {
      alike = claim->dims(d).SerializeAsString() == right->dims(d).SerializeAsString();
    }
    if (alike) return op.outputs(0);
  }
  return "";
}

// TT2: what is computed again for the backward pass starts from another tensor than the first time.
absl::StatusOr<Mutation> StaleInput(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto fits = [&](Place at) {
    return RunsAgain(editor, at) &&
           !StaleTensor(editor, at.program, editor.op(at).inputs(0).tensor()).empty();
  };
  const auto at =
      editor.Choose(seed, "activations that are computed again, with --recompute", fits);
  if (!at.ok()) return at.status();
  const std::string right = editor.op(*at).inputs(0).tensor();
  const std::string stale = StaleTensor(editor, at->program, right);
  editor.op(*at).mutable_inputs(0)->set_tensor(stale);
  return editor.Done(kind, {*at}, absl::StrCat("reads ", stale, " instead of ", right));
}

// The layers of a program: prefixes of names of parameters up to a component that is a number, with
// what follows in the names, and the shape there.
std::map<std::string, std::map<std::string, sdfg::Shape>> LayersOf(const PlanEditor& editor,
                                                                   int program) {
  std::map<std::string, std::map<std::string, sdfg::Shape>> layers;
  for (const plan::NamedRelation& input : editor.program(program).inputs()) {
    if (!editor.IsParameter(program, input.name())) continue;
    size_t end = 0;
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(input.name(), '.'))) {
      end += part.size() + 1;
      int64_t number = 0;
      if (end >= input.name().size() || !absl::SimpleAtoi(part, &number)) continue;
      layers[input.name().substr(0, end)][input.name().substr(end)] =
          editor.LocalShape(program, input.name());
      break;
    }
  }
  return layers;
}

// In all names of a program: of tensors made of inputs whose name begins with `from`, that
// beginning becomes `to`. Names of activations stay.
class RenameLayer {
 public:
  RenameLayer(const plan::Program& program, std::string from, std::string to)
      : from_(std::move(from)), to_(std::move(to)) {
    for (const plan::NamedRelation& input : program.inputs()) {
      if (input.name().rfind(from_, 0) == 0) inputs_.insert(input.name());
    }
  }

  void Run(plan::Program* program) const {
    for (plan::NamedRelation& input : *program->mutable_inputs()) Rename(&input);
    for (plan::NamedRelation& claim : *program->mutable_lineage()) Rename(&claim);
    for (plan::Operator& op : *program->mutable_operators()) {
      for (plan::Operand& operand : *op.mutable_inputs()) {
        if (operand.has_tensor()) operand.set_tensor(Renamed(operand.tensor()));
      }
      for (std::string& output : *op.mutable_outputs()) output = Renamed(output);
      for (plan::Binding& binding : *op.mutable_produces()) {
        binding.set_value(Renamed(binding.value()));
      }
    }
  }

 private:
  void Rename(plan::NamedRelation* named) const {
    named->set_name(Renamed(named->name()));
    plan::Relation& relation = *named->mutable_relation();
    if (!relation.of().empty()) relation.set_of(Renamed(relation.of()));
  }

  std::string Renamed(const std::string& name) const {
    for (size_t at = name.find(from_); at != std::string::npos; at = name.find(from_, at + 1)) {
      // The name of an input, and perhaps what was done to it: ".local", ".new".
      for (size_t end = name.size(); end != std::string::npos && end > at;
           end = name.rfind('.', end - 1)) {
        if (inputs_.count(name.substr(at, end - at)) == 0) continue;
        return absl::StrCat(name.substr(0, at), to_, name.substr(at + from_.size()));
      }
    }
    return name;
  }

  std::string from_, to_;
  std::set<std::string> inputs_;
};

// TT10: two stages hold each other's layers.
absl::StatusOr<Mutation> LayersOnWrongStages(PlanEditor& editor, const std::string& kind,
                                             uint64_t /*seed*/) {
  for (int p = 0; p < editor.programs(); ++p) {
    for (int q = p + 1; q < editor.programs(); ++q) {
      for (const auto& [first, held] : LayersOf(editor, p)) {
        for (const auto& [second, others] : LayersOf(editor, q)) {
          if (first == second || held != others) continue;
          const RenameLayer there(editor.program(p), first, second);
          const RenameLayer back(editor.program(q), second, first);
          there.Run(&editor.program(p));
          back.Run(&editor.program(q));
          Mutation mutation;
          mutation.kind = kind;
          mutation.what = absl::StrCat(
              kind, ": program ", editor.program(p).name(), " holds the layer ", second, " and ",
              editor.program(q).name(), " the layer ", first, ": they run in the wrong order");
          return mutation;
        }
      }
    }
  }
  return absl::FailedPreconditionError(
      "this plan has no place for it: it needs two stages with one layer alike each");
}

}  // namespace

void AddOperandFaults(PlanFaults* faults) {
  faults->insert({{"TT1", InvertedMask}, {"TT2", StaleInput}, {"TT10", LayersOnWrongStages}});
}

}  // namespace planproof::mutation
