#include "lineage/folding/alignment.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace planproof::lineage::folding {

using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

// Operators that do not fit by what they read are fitted one after another, so many times.
constexpr int kMaxRepairs = 64;
// Ranks are folded where they share one operator of so many, or more.
constexpr int64_t kLeastShare = 8;

using Key = absl::InlinedVector<int64_t, 12>;
using ClassByKey = absl::flat_hash_map<Key, int>;
using CountByKey = absl::flat_hash_map<Key, int64_t>;

class Aligner {
 public:
  Aligner(const Problem& problem, const Groups& groups)
      : problem_(problem), graph_(problem.parallel), groups_(groups) {
    std::map<std::string, int64_t> names;
    for (const sdfg::Operator& op : graph_.operators) {
      name_.push_back(names.try_emplace(op.name, names.size()).first->second);
      ranks_.push_back(groups_.Of(DeviceOf(graph_, op)));
    }
    forced_.assign(graph_.operators.size(), kNone);
    given_up_.assign(graph_.operators.size(), false);
    for (const Lineage& lineage : problem_.lineage) meant_.push_back(lineage.logical);
    for (const RequiredRelation& required : problem_.required) {
      TensorId& meant = meant_[required.parallel];
      if (meant == kNone) meant = required.lineage.logical;
    }
    std::map<sdfg::Device, int64_t> length;
    for (const sdfg::Operator& op : graph_.operators) {
      place_.push_back(length[DeviceOf(graph_, op)]++);
    }
  }

  Alignment Run() {
    AlignSources();
    FindApart();
    AlignOperators();
    if (!Pays()) return {};
    for (int repairs = 0; repairs < kMaxRepairs && Repair(); ++repairs) AlignOperators();
    Alignment result;
    for (const Aligned& aligned : classes_) {
      if (Complete(aligned)) result.operators.push_back(aligned);
    }
    for (const Aligned& aligned : sources_) {
      if (Complete(aligned)) result.sources.push_back(aligned);
    }
    return result;
  }

 private:
  static bool Complete(const Aligned& aligned) {
    return std::count(aligned.members.begin(), aligned.members.end(), kNone) == 0;
  }

  // The class of the key and the occurrence of it on this rank.
  int Enter(const Rank& at, int32_t member, Key key, ClassByKey* by_key, CountByKey* occurrences,
            std::vector<Aligned>* classes) {
    Key own = key;
    own.push_back(at.rank);
    key.push_back((*occurrences)[std::move(own)]++);
    const auto [found, fresh] = by_key->try_emplace(std::move(key), classes->size());
    if (fresh) {
      classes->push_back({at.group, std::vector<int32_t>(groups_.groups[at.group].size, kNone)});
    }
    (*classes)[found->second].members[at.rank] = member;
    return found->second;
  }

  void AlignSources() {
    ClassByKey by_key;
    CountByKey occurrences;
    source_class_.assign(graph_.tensors.size(), kNone);
    for (TensorId id = 0; id < static_cast<TensorId>(graph_.tensors.size()); ++id) {
      const sdfg::Tensor& tensor = graph_.tensors[id];
      const Rank at = groups_.Of(tensor.device);
      if (tensor.producer != kNone || at.group == kNone) continue;
      Key key = {at.group, static_cast<int64_t>(tensor.role), static_cast<int64_t>(tensor.dtype),
                 problem_.lineage[id].logical, static_cast<int64_t>(tensor.shape.size())};
      key.insert(key.end(), tensor.shape.begin(), tensor.shape.end());
      source_class_[id] = Enter(at, id, std::move(key), &by_key, &occurrences, &sources_);
    }
  }

  // An operator that reads what not all ranks hold, or what is computed of that on its rank alone,
  // has no instance there: on another parameter, the same steps of an optimizer are others.
  void FindApart() {
    std::vector<bool> apart(graph_.tensors.size(), false);
    for (TensorId id = 0; id < static_cast<TensorId>(graph_.tensors.size()); ++id) {
      apart[id] = source_class_[id] != kNone && !Complete(sources_[source_class_[id]]);
    }
    for (size_t id = 0; id < graph_.operators.size(); ++id) {
      const sdfg::Operator& op = graph_.operators[id];
      if (op.kind != sdfg::OperatorKind::kCompute) continue;
      given_up_[id] = std::any_of(op.inputs.begin(), op.inputs.end(),
                                  [&](TensorId input) { return apart[input]; });
      for (TensorId output : op.outputs) {
        if (output != kNone && given_up_[id]) apart[output] = true;
      }
    }
  }

  // Stages of a pipeline hold other parameters: what they share is hardly an operator in eight, and
  // what joins it to the others is more than folding saves.
  bool Pays() const {
    int64_t all = 0, shared = 0;
    for (size_t id = 0; id < ranks_.size(); ++id) {
      if (ranks_[id].group == kNone) continue;
      ++all;
      shared += !given_up_[id] || Complete(classes_[class_[id]]) ? 1 : 0;
    }
    return kLeastShare * shared >= all;
  }

  // What an operand is an instance of: classes of operators, then of sources, then tensors.
  Key ClassOf(TensorId tensor) const {
    const OperatorId producer = graph_.tensors[tensor].producer;
    if (producer != kNone && class_[producer] != kNone) {
      return {0, class_[producer], graph_.tensors[tensor].producer_output};
    }
    if (producer == kNone && source_class_[tensor] != kNone) return {1, source_class_[tensor], 0};
    return {2, tensor, 0};
  }

  void AlignOperators() {
    ClassByKey by_key;
    CountByKey occurrences;
    classes_.clear();
    class_.assign(graph_.operators.size(), kNone);
    for (OperatorId id = 0; id < static_cast<OperatorId>(graph_.operators.size()); ++id) {
      const sdfg::Operator& op = graph_.operators[id];
      const Rank& at = ranks_[id];
      if (at.group == kNone) continue;
      Key key = {at.group, name_[id], static_cast<int64_t>(op.outputs.size())};
      if (forced_[id] != kNone) {
        key = {at.group, -1, forced_[id]};
      } else {
        // Pieces of one buffer, say, that ranks read in another order.
        for (TensorId output : op.outputs) {
          key.push_back(output == kNone ? kNone : meant_[output]);
        }
        Key last;
        for (TensorId input : op.inputs) {
          Key own = ClassOf(input);
          if (own == last) continue;  // a collective reads all instances
          key.insert(key.end(), own.begin(), own.end());
          last = std::move(own);
        }
      }
      class_[id] = Enter(at, id, std::move(key), &by_key, &occurrences, &classes_);
    }
  }

  // Completes the first class that lacks a rank by operators of the same name that lack ranks, too.
  // What reads them is aligned anew. Whether there was such a class.
  bool Repair() {
    std::vector<std::pair<OperatorId, int>> incomplete;  // by first operator
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (Complete(classes_[c])) continue;
      for (OperatorId member : classes_[c].members) {
        if (member == kNone || given_up_[member]) continue;
        incomplete.push_back({member, static_cast<int>(c)});
        break;
      }
    }
    std::sort(incomplete.begin(), incomplete.end());
    for (const auto& [first, c] : incomplete) {
      if (Complete(c, first, incomplete)) return true;
      for (OperatorId member : classes_[c].members) {
        if (member != kNone) given_up_[member] = true;
      }
    }
    return false;
  }

  bool Complete(int c, OperatorId first,
                const std::vector<std::pair<OperatorId, int>>& incomplete) {
    std::vector<OperatorId> members = classes_[c].members;
    for (size_t rank = 0; rank < members.size(); ++rank) {
      if (members[rank] != kNone) continue;
      int64_t nearest = INT64_MAX;
      for (const auto& [other_first, other] : incomplete) {
        const OperatorId candidate =
            classes_[other].group == classes_[c].group ? classes_[other].members[rank] : kNone;
        if (candidate == kNone || given_up_[candidate] || name_[candidate] != name_[first] ||
            graph_.operators[candidate].outputs.size() != graph_.operators[first].outputs.size()) {
          continue;
        }
        const int64_t distance = std::abs(place_[candidate] - place_[first]);
        if (distance >= nearest) continue;
        nearest = distance;
        members[rank] = candidate;
      }
      if (members[rank] == kNone) return false;
    }
    for (OperatorId member : members) forced_[member] = next_forced_;
    ++next_forced_;
    return true;
  }

  const Problem& problem_;
  const sdfg::Graph& graph_;
  const Groups& groups_;
  std::vector<int64_t> name_;    // by operator
  std::vector<int64_t> place_;   // in the program of its device
  std::vector<TensorId> meant_;  // by tensor: which one of the model it is said to be, or kNone
  std::vector<Rank> ranks_;
  std::vector<int> class_, source_class_, forced_;
  std::vector<bool> given_up_;
  int next_forced_ = 0;
  std::vector<Aligned> classes_, sources_;
};

}  // namespace

Alignment Align(const Problem& problem, const Groups& groups) {
  return Aligner(problem, groups).Run();
}

}  // namespace planproof::lineage::folding
