#include "generator/trace.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace planproof::generator {

plan::Operator* Trace::Write(int stage, const std::string& op, const std::vector<std::string>& in,
                             const std::string& out) {
  plan::Operator* added = programs[stage].add_operators();
  added->set_op(op);
  for (const std::string& name : in) added->add_inputs()->set_tensor(name);
  added->add_outputs(out);
  return added;
}

std::string Trace::StageName(int stage, const Layout::Ranks& others) const {
  std::string name = absl::StrCat("stage", stage);
  for (const std::string& axis : layout.Apart()) {
    const auto other = others.find(axis);
    absl::StrAppend(&name, "_", axis, other == others.end() ? layout.OwnRank(axis) : other->second);
  }
  return name;
}

plan::Collective* Trace::WriteCollective(int stage, const std::string& op, const Axes& axes,
                                         const std::string& in, const std::string& out) {
  if (axes.empty() || !layout.IsApart(axes[0])) {
    plan::Collective* collective = Write(stage, op, {in}, out)->mutable_collective();
    for (const std::string& axis : axes) collective->add_over(axis);
    return collective;
  }
  std::vector<std::string> operands;
  for (Layout::Ranks ranks : layout.AllApart()) {
    for (const std::string& axis : Minus(layout.Apart(), axes)) ranks[axis] = layout.OwnRank(axis);
    const std::string operand = absl::StrCat(StageName(stage, ranks), ":", in);
    if (std::find(operands.begin(), operands.end(), operand) == operands.end()) {
      operands.push_back(operand);
    }
  }
  return Write(stage, op, operands, out)->mutable_collective();
}

void Trace::WriteAllReduce(int stage, const Axes& axes, const std::string& in,
                           const std::string& out, const std::string& reduce) {
  Axes ranks = Minus(axes, {"microbatch"});
  std::string from = in;
  if (ranks.size() < axes.size()) {
    const std::string to = ranks.empty() ? out : absl::StrCat(out, ".accumulated");
    Write(stage, "accumulate", {from}, to)->mutable_collective();
    from = to;
  }
  if (ranks.empty()) return;
  const Axes others = Minus(ranks, layout.Apart());
  if (!others.empty() && others.size() < ranks.size()) {
    const std::string to = absl::StrCat(out, ".by_rank");
    WriteAllReduce(stage, others, from, to, reduce);
    from = to;
    ranks = Minus(ranks, others);
  }
  plan::Collective* collective = WriteCollective(stage, "all_reduce", ranks, from, out);
  if (reduce != "sum") collective->set_reduce(reduce);
}

void Trace::WriteAlong(int stage, const std::string& op, const Axes& axes, int dim,
                       const std::string& in, const std::string& out) {
  if (op == "chunk" && layout.IsApart(axes[0])) {
    WriteOwnChunk(stage, axes[0], dim, in, out);
    return;
  }
  WriteCollective(stage, op, axes, in, out)->set_dim(dim);
}

void Trace::WriteOwnChunk(int stage, const std::string& axis, int dim, const std::string& in,
                          const std::string& out) {
  const auto rank = static_cast<int>(layout.OwnRank(axis));
  plan::Operator* op = Write(stage, "chunk", {in}, absl::StrCat(out, ".0"));
  for (int other = 1; other <= rank; ++other) op->add_outputs(absl::StrCat(out, ".", other));
  op->set_outputs(rank, out);
  const std::pair<const char*, int64_t> attributes[] = {{"chunks", layout.Extent(axis)},
                                                        {"dim", dim}};
  for (const auto& [name, value] : attributes) {
    plan::Attribute* attribute = op->add_attributes();
    attribute->set_name(name);
    attribute->mutable_value()->set_integer(value);
  }
}

void Trace::WriteShift(int stage, const std::string& axis, int64_t shift, Value of,
                       const std::string& in, const std::string& out) {
  if (layout.IsApart(axis)) {
    const int64_t ranks = layout.Extent(axis);
    const int64_t from = ((layout.OwnRank(axis) - shift) % ranks + ranks) % ranks;
    plan::Operator* move =
        Write(stage, "move", {absl::StrCat(StageName(stage, {{axis, from}}), ":", in)}, out);
    move->mutable_collective();
    // Between two ranks both directions of the ring are the same; keys and values are computed in
    // one order and passed on in another.
    const std::string& logical = values[of].logical;
    move->set_channel(absl::StrCat(shift > 0 ? "ring." : "ring.backward.",
                                   logical.substr(logical.rfind('.') + 1)));
    return;
  }
  plan::Collective* collective = Write(stage, "permute", {in}, out)->mutable_collective();
  collective->add_over(axis);
  collective->set_has_shift(true);
  collective->set_shift(shift);
}

void Trace::WriteAllToAll(int stage, const Axes& axes, int split, int concat, const std::string& in,
                          const std::string& out) {
  plan::Collective* collective = Write(stage, "all_to_all", {in}, out)->mutable_collective();
  for (const std::string& axis : axes) collective->add_over(axis);
  collective->set_split_dim(split);
  collective->set_concat_dim(concat);
}

void Trace::WriteSum(int stage, const std::vector<std::string>& terms, const std::string& out) {
  // Of neighbours, then of neighbouring sums: no operand stands for many terms but the last ones,
  // so that the sums, written out, stay short.
  std::vector<std::string> sums = terms;
  size_t written = 0;
  while (sums.size() > 1) {
    std::vector<std::string> next;
    for (size_t i = 0; i + 1 < sums.size(); i += 2) {
      next.push_back(sums.size() == 2 ? out : absl::StrCat(out, ".sum", ++written));
      Write(stage, "add", {sums[i], sums[i + 1]}, next.back());
    }
    if (sums.size() % 2 == 1) next.push_back(sums.back());
    sums = std::move(next);
  }
  if (terms.size() == 1 && terms[0] != out) Write(stage, "identity", terms, out);
}

void Trace::WriteLineage(int stage, const std::string& name, const std::string& logical_name,
                         const Dims& dims, const Axes& partial) {
  if (logical) return;
  plan::NamedRelation* named = programs[stage].add_lineage();
  named->set_name(name);
  plan::Relation* relation = named->mutable_relation();
  if (logical_name != name) relation->set_of(logical_name);
  if (absl::StartsWith(logical_name, "grad.")) relation->set_factor(gradient_factor);
  for (const std::string& axis : partial) relation->add_partial(axis);
  WriteCuts(dims, /*input=*/false, relation);
}

void Trace::WriteCuts(const Dims& dims, bool input, plan::Relation* relation) const {
  size_t cuts = 0;
  for (const Dim& dim : dims) cuts += dim.over.size();
  const bool diagonal = AxesOf(dims).size() < cuts;  // one axis cuts two dimensions
  if (diagonal || !std::all_of(dims.begin(), dims.end(), IsPlainCut)) {
    relation->set_has_map(true);
    for (size_t d = 0; d < dims.size(); ++d) {
      relation->add_map(layout.IndexOf(dims[d], absl::StrCat("i", d)));
      if (input) relation->add_shape(layout.Local(dims[d]));
    }
    relation->set_has_shape(input);
    return;
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].over.empty()) continue;
    plan::ShardedDim* cut = relation->add_dims();
    cut->set_dim(static_cast<int>(d));
    for (const std::string& axis : dims[d].over) cut->add_over(axis);
    for (int64_t size : dims[d].sizes) cut->add_sizes(size);
  }
}

}  // namespace planproof::generator
