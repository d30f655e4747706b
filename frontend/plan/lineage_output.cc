#include "frontend/plan/lineage_output.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/load_problem.h"
#include "frontend/plan/loops.h"
#include "frontend/plan/read_plan.h"
#include "frontend/plan/readable_form.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using sdfg::AxisId;
using sdfg::IndexDigit;
using sdfg::IndexMap;
using sdfg::IndexTerm;

bool IsPlain(const IndexTerm& term) {
  return !term.gated() && term.div == 1 && term.mod == 0 && term.offset == 0;
}

// One relation in the words of the plan format.
class LineageText {
 public:
  LineageText(const sdfg::Graph& parallel, const sdfg::Tensor& tensor, const sdfg::Shape& logical)
      : parallel_(parallel), tensor_(tensor), logical_(logical) {}

  Relation Of(const StatedRelation& stated) const {
    Relation relation;
    if (!AsShards(stated.map, &relation)) {
      relation.clear_dims();
      relation.set_has_map(true);
      for (const IndexMap& map : stated.map) relation.add_map(Expression(map));
    }
    if (!stated.factor.IsOne()) relation.set_factor(stated.factor.ToString());
    return relation;
  }

 private:
  int NumberOfAxes() const { return static_cast<int>(tensor_.axes.size()); }

  // Each dimension whole, cut in equal parts over axes, or a range, in the tensor's order.
  bool AsShards(const std::vector<IndexMap>& map, Relation* relation) const {
    if (tensor_.local_rank() != static_cast<int>(map.size())) return false;
    std::set<int32_t> used;
    for (size_t d = 0; d < map.size(); ++d) {
      ShardedDim shard;
      if (!AsShard(map[d], static_cast<int>(d), &used, &shard)) return false;
      if (shard.over_size() > 0 || shard.start() != 0 || shard.stop() != logical_[d]) {
        shard.set_dim(static_cast<int>(d));
        *relation->add_dims() = std::move(shard);
      }
    }
    return true;
  }

  bool AsShard(const IndexMap& map, int d, std::set<int32_t>* used, ShardedDim* shard) const {
    const int own = NumberOfAxes() + d;
    const int64_t local = tensor_.shape[own];
    bool mentions_own = local == 1;
    std::map<int64_t, int32_t, std::greater<>> axes;  // by scale, outermost first
    for (const IndexTerm& term : map.terms) {
      if (!IsPlain(term)) return false;
      if (term.dim == own && term.scale == 1) {
        mentions_own = true;
      } else if (term.dim >= NumberOfAxes() || !used->insert(term.dim).second ||
                 !axes.emplace(term.scale, term.dim).second) {
        return false;
      }
    }
    if (!mentions_own) return false;
    if (axes.empty()) {
      shard->set_start(map.constant);
      shard->set_stop(map.constant + local);
      return true;
    }
    int64_t scale = local;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      if (axis->first != scale) return false;
      scale *= tensor_.shape[axis->second];
    }
    if (map.constant != 0 || scale != logical_[d]) return false;
    for (const auto& [unused, axis] : axes) shard->add_over(NameOf(axis));
    return true;
  }

  std::string NameOf(int32_t dim) const {
    return dim < NumberOfAxes() ? parallel_.axes[tensor_.axes[dim]].name
                                : absl::StrCat("i", dim - NumberOfAxes());
  }

  std::string DigitText(const IndexDigit& digit) const {
    std::string text = NameOf(digit.dim);
    if (digit.offset != 0) text = absl::StrCat("(", text, " + ", digit.offset, ")");
    if (digit.div != 1) absl::StrAppend(&text, " / ", digit.div);
    if (digit.mod != 0) absl::StrAppend(&text, " % ", digit.mod);
    return text;
  }

  // Terms with a sign; what is added comes first, since no expression begins with a minus.
  std::string Expression(const IndexMap& map) const {
    std::string added, taken;
    for (const IndexTerm& term : map.terms) {
      std::string text = DigitText(term.digit());
      if (term.gated()) text = absl::StrCat("(", text, ") * (", DigitText(term.gate), ")");
      const int64_t scale = std::abs(term.scale);
      if (scale != 1) absl::StrAppend(&text, " * ", scale);
      if (term.scale < 0) {
        absl::StrAppend(&taken, " - ", text);
      } else {
        absl::StrAppend(&added, added.empty() ? "" : " + ", text);
      }
    }
    if (map.constant < 0) {
      absl::StrAppend(&taken, " - ", -map.constant);
    } else if (map.constant > 0 || added.empty()) {
      absl::StrAppend(&added, added.empty() ? "" : " + ", map.constant);
    }
    return absl::StrCat(added, taken);
  }

  const sdfg::Graph& parallel_;
  const sdfg::Tensor& tensor_;
  const sdfg::Shape& logical_;
};

// Tensors by what a graph calls them, where that is one tensor.
std::unordered_map<std::string_view, sdfg::TensorId> OnlyOnes(const sdfg::Graph& graph) {
  std::unordered_map<std::string_view, sdfg::TensorId> only;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto [at, fresh] =
        only.try_emplace(graph.tensors[t].name, static_cast<sdfg::TensorId>(t));
    if (!fresh) at->second = sdfg::kNone;
  }
  return only;
}

// What operators of a program define by name, apart from what exceptions replace.
std::set<std::string> DefinedBy(const Program& program) {
  std::set<std::string> defined;
  for (const Operator& op : program.operators()) {
    defined.insert(op.outputs().begin(), op.outputs().end());
    for (const Binding& binding : op.produces()) defined.insert(binding.value());
  }
  return defined;
}

// Where a plan can say something of a tensor.
struct Entry {
  int program = 0;
  std::string name;
};

std::map<std::string, Entry> EntriesOf(const Plan& plan) {
  std::map<std::string, Entry> entries;
  const bool several = plan.programs_size() > 1;
  for (int p = 0; p < plan.programs_size(); ++p) {
    const Program& program = plan.programs(p);
    const std::string of = program.name().empty() ? absl::StrCat("program", p) : program.name();
    for (const std::string& name : DefinedBy(program)) {
      entries[several ? absl::StrCat(of, ":", name) : name] = {p, name};
    }
  }
  return entries;
}

void SetRelation(const std::string& name, Relation relation, Program* program) {
  for (NamedRelation& named : *program->mutable_lineage()) {
    if (named.name() != name) continue;
    *named.mutable_relation() = std::move(relation);
    return;
  }
  NamedRelation* named = program->add_lineage();
  named->set_name(name);
  *named->mutable_relation() = std::move(relation);
}

absl::StatusOr<PlanFile> ReadMerged(const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, PlanFile>> read;
  for (const std::string& file : files) {
    PLAN_ASSIGN_OR_RETURN(PlanFile content, ReadPlanFile(file));
    read.emplace_back(file, std::move(content));
  }
  if (read.size() == 1) return std::move(read[0].second);
  return MergePlanFiles(read);
}

}  // namespace

absl::StatusOr<PlanWithLineage> WithLineage(const std::vector<std::string>& files,
                                            const lineage::Problem& problem,
                                            const std::vector<StatedRelation>& relations) {
  PLAN_ASSIGN_OR_RETURN(PlanFile file, ReadMerged(files));
  const auto parallel = OnlyOnes(problem.parallel), logical = OnlyOnes(problem.logical);
  PlanFile unrolled = file;
  PLAN_RETURN_IF_ERROR(UnrollLoops(files[0], &unrolled));
  const std::map<std::string, Entry> entries = EntriesOf(unrolled.plan());
  PlanWithLineage out;
  for (const StatedRelation& stated : relations) {
    const auto tensor = parallel.find(stated.tensor), of = logical.find(stated.logical);
    const auto entry = entries.find(stated.tensor);
    if (entry == entries.end() || tensor == parallel.end() || tensor->second == sdfg::kNone ||
        of == logical.end() || of->second == sdfg::kNone) {
      out.unnamed.push_back(stated.tensor);
      continue;
    }
    Relation relation = LineageText(problem.parallel, problem.parallel.tensors[tensor->second],
                                    problem.logical.tensors[of->second].shape)
                            .Of(stated);
    if (stated.logical != entry->second.name) relation.set_of(stated.logical);
    SetRelation(entry->second.name, std::move(relation),
                file.mutable_plan()->mutable_programs(entry->second.program));
    ++out.stated;
  }
  absl::StatusOr<std::string> text = WriteReadableForm(file);
  if (!text.ok()) {
    return frontend::UsageError(text.status().code(),
                                absl::StrCat(files[0], ": ", std::string(text.status().message())));
  }
  out.text = *std::move(text);
  return out;
}

}  // namespace planproof::plan
