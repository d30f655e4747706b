// Evaluates a tensor's element at a symbolic index to a term in normal form.
//
// The index is a tuple of affine expressions over free index symbols with known ranges. Extents
// keep their original values and nothing is enumerated: a reduction becomes a sum atom over its
// whole interval. Where an index expression needs a decision that the ranges do not give (which
// piece of a concatenation, which digit of a view), the evaluator asks for a *split*: of a
// summation interval it splits itself; of the caller's symbol the caller splits the cell and
// evaluates again. So cut points and digits are discovered where they matter and nowhere else.
#ifndef PLANPROOF_SDFG_SYMBOLIC_EVALUATOR_H_
#define PLANPROOF_SDFG_SYMBOLIC_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "sdfg/graph.h"
#include "sdfg/index_map.h"
#include "sdfg/index_symbols.h"
#include "sdfg/premise_trail.h"
#include "solver/term.h"

namespace planproof::sdfg {

// A tensor of one of several graphs that are evaluated together.
struct TensorRef {
  int32_t graph = 0;
  TensorId tensor = kNone;
  friend bool operator==(const TensorRef&, const TensorRef&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const TensorRef& t) {
    return H::combine(std::move(h), t.graph, t.tensor);
  }
};

// What an element of a tensor stands for.
struct Representation {
  enum class Kind : uint8_t {
    kAtom,        // itself: an unknown value, element `tag` at the index
    kDefinition,  // what its producer computes
    kAlias,       // an element of another tensor (proved or given): `alias` at `map`
    kZero,        // 0, of a real tensor: what its producer computes has been shown to be that
  } kind = Kind::kDefinition;
  uint32_t tag = 0;
  solver::IntRange int_range;  // kAtom of an integer tensor
  // kAtom of a real tensor: forms of the index; an element is 0 where any of them is negative. May
  // be null.
  const std::vector<IndexMap>* zero_unless = nullptr;
  TensorRef alias;
  const std::vector<IndexMap>* map = nullptr;
};

class RepresentationPolicy {
 public:
  virtual ~RepresentationPolicy() = default;
  virtual Representation Of(TensorRef tensor) = 0;
  // Whether an element of the tensor may be -infinity, or be computed from one that is, other than
  // by exponentials: also where a maximum hides it, by a premise.
  virtual bool MayBeInfinite(TensorRef /*tensor*/) { return true; }
  // Who meets the premises of the tensor's definition.
  virtual solver::PremiseSource SourceOf(TensorRef /*tensor*/) const { return {}; }
};

// A value that may be -infinity (a mask): -infinity where `masked` is 1, else `value`.
struct MaskedValue {
  solver::PolyId value = solver::kZeroPoly;
  solver::PolyId masked = solver::kZeroPoly;
};

using Indices = absl::InlinedVector<solver::Affine, 8>;

struct EvaluationScratch;

class SymbolicEvaluator {
 public:
  SymbolicEvaluator(solver::Arena* arena, std::vector<const Graph*> graphs,
                    RepresentationPolicy* policy);
  ~SymbolicEvaluator();

  // The element of a real (or boolean) tensor. nullopt: see request() and error().
  std::optional<MaskedValue> Element(TensorRef tensor, const Indices& indices);
  // The element of an integer tensor.
  std::optional<solver::Affine> IntegerElement(TensorRef tensor, const Indices& indices);
  // The element of a tensor by its definition, whatever the policy says of the tensor itself.
  std::optional<MaskedValue> Defined(TensorRef tensor, const Indices& indices);
  std::optional<solver::Affine> IntegerDefined(TensorRef tensor, const Indices& indices);
  // Records the condition that an operator declares (number `premise` of its function) as a
  // premise, at an index of the output that it is about: coordinates first, if the operator is
  // lifted. False: see request() and error().
  bool RecordCondition(int32_t graph, OperatorId op, int premise, const Indices& indices);
  // The extents over which these indices run.
  static Shape ConditionShape(const Graph& graph, OperatorId op, int premise);
  // Applies an index map to an index (divisions may request splits).
  std::optional<Indices> Map(const std::vector<IndexMap>& map, const Indices& indices);

  // After a nullopt: the split that is needed, or kNone if no split helps; then error() says why.
  const SplitRequest& request() const { return request_; }
  const std::string& error() const { return error_; }
  void ClearFailure();
  // Forgets remembered elements (needed when the policy's answers change). Until then an element
  // that was evaluated is taken from memory, and what it met is met again.
  void Forget();
  size_t remembered() const { return memo_.size() + int_memo_.size(); }
  // The variables over which indices run; those of equal cells should be equal.
  IndexSymbols* symbols() { return &symbols_; }

  // Of a selection only the branch taken has to be defined. Where its condition is not decided, an
  // operation in a branch that is not defined everywhere records its premise as if the branch were
  // always taken (`premises_in_branches` then says so), which asks for too much; or, in exact
  // branches, it is applied to 1 + c (x - 1) instead of x, c being the condition: x where the
  // branch is taken, and 1, for which every operation is defined, where it is not. The value is
  // multiplied by c in both cases. Call Forget after a change.
  void SetExactBranches(bool exact) { exact_branches_ = exact; }
  bool exact_branches() const { return exact_branches_; }
  bool premises_in_branches() const { return trails_.in_branch(); }
  void ClearPremisesInBranches() { trails_.ClearInBranch(); }

 private:
  friend class FunctionEvaluation;
  // Premises are met by a tensor's definition until the end of the scope.
  class PremiseScope;
  // An index variable is bound until the end of the scope.
  class Binding {
   public:
    Binding(SymbolicEvaluator* evaluator, solver::Interval range);
    ~Binding() { --evaluator_.binders_; }
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;
    const solver::BoundVariable& variable() const { return variable_; }

   private:
    SymbolicEvaluator& evaluator_;
    solver::BoundVariable variable_;
  };
  // Conditions of the enclosing undecided selections, outermost first.
  using Guards = absl::InlinedVector<solver::PolyId, 2>;
  // Indices, or guards, that occurred, numbered: many elements have the same ones.
  template <typename Sequence>
  class Numbers {
   public:
    uint32_t Of(const Sequence& sequence) {
      return numbers_.try_emplace(sequence, static_cast<uint32_t>(numbers_.size())).first->second;
    }
    void Forget() { numbers_.clear(); }

   private:
    struct Hash {
      size_t operator()(const Sequence& sequence) const;
    };
    absl::node_hash_map<Sequence, uint32_t, Hash> numbers_;
  };
  // What an element is remembered by. Which reads are allowed and, where branches are taken
  // exactly, the value itself depend on the guards.
  static constexpr uint32_t kNoGuards = 0;
  struct Key {
    TensorRef tensor;
    uint32_t indices = 0;
    uint32_t guards = kNoGuards;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.tensor, k.indices, k.guards);
    }
  };
  void Fail(std::string message);
  void RequestCut(solver::Symbol symbol, int64_t at);
  void RequestDigit(solver::Symbol symbol, int64_t stride);
  bool IsPinned(solver::Symbol symbol) const;
  // e = divisor * quotient + remainder; both affine. Requests splits.
  bool DivMod(const solver::Affine& e, int64_t divisor, solver::Affine* quotient,
              solver::Affine* remainder);
  // A variable stands in it whose range may be split.
  bool HasVariables(const solver::Affine& e) const;
  void OpaqueDivMod(const solver::Affine& v, solver::IntRange r, int64_t divisor,
                    solver::Affine* quotient, solver::Affine* remainder);
  void RequestQuotient(const solver::Affine& v, solver::IntRange r, int64_t divisor);
  bool RequestWithout(solver::Symbol best, const solver::Affine& v, solver::IntRange r,
                      int64_t divisor);
  void RequestCrossing(const solver::Affine& v, int64_t divisor);
  std::optional<solver::Affine> Digit(const IndexDigit& digit, const Indices& indices);
  // Requests splits until the gate has one value.
  std::optional<bool> GateIsOpen(const IndexDigit& gate, const Indices& indices);
  const std::vector<uint64_t>& Dependencies(const IndexFunction& function);

  solver::Arena& arena_;
  std::vector<const Graph*> graphs_;
  RepresentationPolicy& policy_;
  IndexSymbols symbols_;
  int binders_ = 0;  // around what is evaluated
  template <typename Value>
  using Memo = absl::flat_hash_map<Key, std::pair<Value, PremiseTrails::Id>>;
  // The element by its definition, evaluated anew.
  template <typename Value, typename Evaluate>
  std::optional<Value> ByDefinition(TensorRef tensor, const Indices& indices,
                                    const Evaluate& evaluate);
  // The same, evaluated under the guards of the key, which are those around it, or from memory;
  // and what it meets.
  template <typename Value, typename Evaluate>
  std::optional<std::pair<Value, PremiseTrails::Id>> Remembered(const Key& key,
                                                                const Indices& indices,
                                                                Memo<Value>* memo,
                                                                const Evaluate& evaluate);
  // The same without the guards around it; nullopt without a request or an error if it needs them.
  template <typename Value, typename Evaluate>
  std::optional<Value> OutsideBranches(TensorRef tensor, uint32_t number, const Indices& indices,
                                       Memo<Value>* memo, const Evaluate& evaluate);
  template <typename Value, typename Evaluate>
  std::optional<Value> Definition(TensorRef tensor, const Indices& indices, Memo<Value>* memo,
                                  const Evaluate& evaluate);

  PremiseTrails trails_;
  Memo<MaskedValue> memo_;
  Memo<solver::Affine> int_memo_;
  absl::flat_hash_set<Key> needs_guards_;  // elements that did not evaluate without
  Numbers<Indices> index_numbers_;
  Numbers<Guards> guard_numbers_;
  std::vector<std::unique_ptr<EvaluationScratch>> scratch_;  // of evaluations that have ended
  absl::node_hash_map<const IndexFunction*, std::vector<uint64_t>> dependencies_;  // stable values
  std::vector<solver::Symbol> pinned_;  // row variables of opaque functions: never split
  SplitRequest request_;
  std::string error_;
  int depth_ = 0;
  bool exact_branches_ = false;
  // A read outside its tensor is allowed only where these exclude it; its value is then multiplied
  // by 0.
  Guards guards_;
};

// Takes branches exactly within a scope, and remembers nothing beyond it.
class ExactBranches {
 public:
  explicit ExactBranches(SymbolicEvaluator* evaluator)
      : evaluator_(*evaluator), before_(evaluator->exact_branches()) {
    Set(true);
  }
  ~ExactBranches() { Set(before_); }
  ExactBranches(const ExactBranches&) = delete;
  ExactBranches& operator=(const ExactBranches&) = delete;

 private:
  void Set(bool exact) {
    evaluator_.SetExactBranches(exact);
    evaluator_.Forget();
  }
  SymbolicEvaluator& evaluator_;
  const bool before_;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_SYMBOLIC_EVALUATOR_H_
