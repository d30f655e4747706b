// Searches a graph for the rounds of a ring: the state, and what parts of the search share.
#ifndef PLANPROOF_LINEAGE_ROUNDS_FINDING_H_
#define PLANPROOF_LINEAGE_ROUNDS_FINDING_H_

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lineage/rounds/carried_sums.h"
#include "lineage/rounds/masked_functions.h"
#include "lineage/rounds/recurrence.h"
#include "lineage/rounds/ring_hops.h"
#include "lineage/rounds/rounds.h"

namespace planproof::lineage::rounds {

class Finding {
 public:
  // Both have to outlive it.
  Finding(const sdfg::Graph& graph, const std::vector<sdfg::TensorId>& required);

  // Nothing as FindRounds says.
  std::optional<Rounds> Run();

 private:
  struct Place {
    int family = -1;
    int64_t round = 0;
  };
  using Key = std::pair<const sdfg::IndexFunction*, std::vector<sdfg::TensorId>>;

  sdfg::OperatorId Operators() const {
    return static_cast<sdfg::OperatorId>(graph_.operators.size());
  }

  sdfg::TensorId HandedOn(sdfg::TensorId t) const {
    return next_[t] == sdfg::kNone ? sdfg::kNone : graph_.operators[next_[t]].outputs[0];
  }

  void Add(Family family) {
    const int number = static_cast<int>(found_.families.size());
    for (size_t r = 0; r < family.members.size(); ++r) {
      const sdfg::TensorId t = family.members[r];
      contradicts_ |= IsMember(t) || same_in_all_[t];
      family_of_[t] = {number, static_cast<int64_t>(r)};
    }
    found_.first_of[family.members[0]] = number;
    found_.families.push_back(std::move(family));
  }

  // An operator is part of one thing only.
  void Use(const std::vector<sdfg::OperatorId>& operators) {
    for (const sdfg::OperatorId id : operators) {
      contradicts_ |= found_.operators[id];
      found_.operators[id] = true;
    }
  }

  // Notes that these operands are of no round, since an operator that was found reads them in all
  // rounds alike: whoever says otherwise later contradicts it.
  void NoteSameInAll(const std::vector<sdfg::TensorId>& operands) {
    for (const sdfg::TensorId t : operands) {
      if (!IsMember(t)) same_in_all_[t] = true;
    }
  }

  bool IsMember(sdfg::TensorId t) const { return family_of_[t].family >= 0; }
  bool IsMember(sdfg::TensorId t, int64_t round) const {
    return IsMember(t) && family_of_[t].round == round;
  }
  // Gives the tensor that stands in another round in the place of this one of round `from`.
  sdfg::TensorId InRound(sdfg::TensorId t, int64_t from, int64_t round) const {
    return IsMember(t, from) ? found_.families[family_of_[t].family].members[round] : t;
  }

  // The operator of this function and these operands that nothing stands for yet.
  sdfg::OperatorId Find(const sdfg::IndexFunction* function,
                        std::vector<sdfg::TensorId> operands) const {
    const auto at = by_key_.find(Key{function, std::move(operands)});
    return at == by_key_.end() || found_.operators[at->second] ? sdfg::kNone : at->second;
  }

  // All operands are the same in every round, or of this round (0 or 1); at least one is.
  bool IsOfRound(const std::vector<sdfg::TensorId>& operands, int64_t round) const {
    bool any = false;
    for (const sdfg::TensorId t : operands) {
      if (t == sdfg::kNone || (IsMember(t) && !IsMember(t, round) && !IsLastMaximum(t)))
        return false;
      any |= IsMember(t, round);
    }
    return any;
  }
  bool IsLastMaximum(sdfg::TensorId t) const {
    return IsMember(t, found_.count - 1) &&
           found_.families[family_of_[t].family].kind == Family::Kind::kMaximum;
  }

  // Has one output, which varies over the ring's axis.
  bool HasOneOutput(const sdfg::Operator& op) const {
    return op.outputs.size() == 1 && op.outputs[0] != sdfg::kNone && VariesAlong(op.outputs[0]);
  }
  bool VariesAlong(sdfg::TensorId t) const {
    const std::vector<sdfg::AxisId>& axes = graph_.tensors[t].axes;
    return std::find(axes.begin(), axes.end(), found_.axis) != axes.end();
  }

  // A value that rounds carry on: from `second`, the operator of round 1, whose input `before` is
  // the value of round 0. `operands` gives those of a round's operator, of the value before it. The
  // values of all rounds, and the operators of all but the first; nothing if one is missing.
  template <typename Operands>
  std::vector<sdfg::TensorId> Carry(sdfg::OperatorId second, sdfg::TensorId start,
                                    const Operands& operands,
                                    std::vector<sdfg::OperatorId>* operators) const {
    const sdfg::Operator& op = graph_.operators[second];
    std::vector<sdfg::TensorId> values = {start, op.outputs[0]};
    operators->push_back(second);
    for (int64_t r = 2; r < found_.count; ++r) {
      const sdfg::OperatorId next = Find(op.function.get(), operands(r, values.back()));
      if (next == sdfg::kNone || !HasOneOutput(graph_.operators[next])) return {};
      operators->push_back(next);
      values.push_back(graph_.operators[next].outputs[0]);
    }
    for (const sdfg::TensorId t : values) {
      if (IsMember(t) || !SameForm(graph_.tensors[t], graph_.tensors[start])) return {};
    }
    return values;
  }
  // Tensors that are handed on from rank to rank until each was everywhere. All rings that count
  // run along the axis, and the way, of the first.
  bool FindRing();
  void AddRing(sdfg::TensorId piece);
  // The same operator in all rounds.
  bool Computed(sdfg::OperatorId first);
  // The operator that makes the value of round 0, of operands of that round.
  sdfg::OperatorId Starts(sdfg::TensorId value) const;
  // Whether the expression of round 1's operator is what `first` computes, of the other round.
  bool SameAsFirst(const sdfg::Operator& second, sdfg::ExprId value,
                   const sdfg::Operator& first) const;
  // Operands of round r of an operator of round 1 whose input `before` is the value before.
  std::vector<sdfg::TensorId> OperandsIn(const sdfg::Operator& second, int before, int64_t r,
                                         sdfg::TensorId value) const;
  // The same but for some inputs, which are left out.
  bool OthersAreOfRound(const sdfg::Operator& op, std::vector<int> inputs, int64_t round) const;
  // Notes what the operators of rounds 0 and 1 read, but for these inputs of the latter.
  void NoteOperands(sdfg::OperatorId first, const sdfg::Operator& second, std::vector<int> inputs);
  bool Maxima(sdfg::OperatorId second);
  // Says whether each value is a number: the maximum of rounds of which a mask leaves nothing is
  // none.
  bool AreNumbers(const std::vector<sdfg::TensorId>& values);
  bool Rescaled(sdfg::OperatorId second);
  void AddMaxima(std::vector<sdfg::TensorId> values, sdfg::OperatorId first,
                 const std::vector<sdfg::OperatorId>& operators,
                 std::shared_ptr<const sdfg::IndexFunction> function);
  // Nothing else reads what one round alone makes.
  bool StandsForAll() const;

  // finding_sums.cc
  // How many terms each tensor is the sum of, if it is one.
  void CountTerms();
  // Sums of the members of a family: where they are, handed on from addition to addition, or scaled
  // with the maxima.
  bool Sums(sdfg::OperatorId last);
  // One term of each round of one family, all of them alike.
  std::optional<Total> TotalOf(const Sum& sum) const;
  // Operators exp(M[r - 1] - M[r]), of which nothing is left but what they scale.
  void AddFactors(int family);
  // Finds what rounds scale on their way back, from the last to the first: `last` is the operator
  // that makes the member of the round before the last.
  bool Scaled(sdfg::OperatorId last);
  sdfg::OperatorId ScaledNext(const sdfg::Operator& like, const Scaling& scaling,
                              sdfg::TensorId value, int family, int64_t round) const;

  // finding_masked.cc
  // The functions of these operators, one of each round, with explicit coordinates. All operands
  // vary over the axes of the result.
  std::optional<MaskedRounds> AsMasked(const std::vector<sdfg::OperatorId>& operators);
  // Operators that read these, of one output like that of the given one; none counts yet.
  std::vector<sdfg::OperatorId> Reading(const std::vector<sdfg::TensorId>& operands,
                                        const sdfg::Operator& like) const;
  // The same operator in all rounds, but for its mask.
  bool MaskedComputed(sdfg::OperatorId first);
  // Maxima of what masks leave of each round.
  bool MaskedMaxima(sdfg::OperatorId first);

  const sdfg::Graph& graph_;
  const std::vector<sdfg::TensorId>& required_;
  std::vector<Place> family_of_;
  std::vector<bool> same_in_all_;  // by tensor
  std::vector<bool> infinite_;     // by tensor, if it was asked for
  bool contradicts_ = false;
  std::vector<sdfg::OperatorId> next_;  // by tensor: the operator that hands it on
  absl::flat_hash_map<Key, sdfg::OperatorId> by_key_;
  std::vector<Hop> hops_;                                 // by operator
  std::vector<std::vector<sdfg::OperatorId>> consumers_;  // by tensor
  std::vector<ScaleFactor> factors_;                      // by tensor
  std::vector<int64_t> terms_;                            // by tensor
  std::map<std::pair<const sdfg::IndexFunction*, std::vector<sdfg::AxisId>>,
           std::shared_ptr<const sdfg::IndexFunction>>
      explicit_;
  // What was made of functions by round, of which as many dimensions are coordinates, and that one
  // of them is the rank; null if nothing was.
  struct ByRound {
    std::vector<std::shared_ptr<const sdfg::IndexFunction>> functions;
    size_t axes = 0, ring = 0;

    bool operator<(const ByRound& other) const {
      return std::tie(functions, axes, ring) < std::tie(other.functions, other.axes, other.ring);
    }
  };
  std::map<std::pair<ByRound, std::vector<bool>>,
           std::optional<std::shared_ptr<const sdfg::IndexFunction>>>
      products_;
  std::map<std::pair<ByRound, int>, std::optional<std::shared_ptr<const sdfg::IndexFunction>>>
      maxima_;
  Rounds found_;
};

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_FINDING_H_
