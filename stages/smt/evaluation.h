// Evaluates elements of tensors to raw terms, on block-constant logical tensors.
//
// The graphs keep their full shapes; what is reduced are the unknown values: a dimension of a
// logical tensor is cut into blocks, and all indices of a block stand for one variable. A sum over
// n indices is evaluated run by run: at the first index of a run every decision on the way (a
// comparison, a digit, the block of a read) is noted as a bound on how far the run extends; the
// term found there counts as often as the run is long. This is exact, whatever the blocks are.
//
// It shares nothing with the symbolic evaluator that the prover uses, on purpose: an audit by the
// same code would repeat its mistakes.
#ifndef PLANPROOF_STAGES_SMT_EVALUATION_H_
#define PLANPROOF_STAGES_SMT_EVALUATION_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "solver/smt_term.h"
#include "stages/relations.h"

namespace planproof::stages {

// Where blocks of logical tensors start, by tensor and dimension; absent: one block.
using BlockStarts = std::map<std::pair<sdfg::TensorId, int>, std::set<int64_t>>;

// How the runs of loops meet the blocks that are read in them.
struct SmtAlignment {
  // Index by index, a run stands for a block of a dimension, maybe backwards.
  struct Link {
    int run;
    sdfg::TensorId tensor;
    int dim;
    int64_t start, length;
    bool reversed;
  };
  std::vector<Link> links;  // in the order of the reads
  // Where blocks are to be divided for every run to be a whole block of what is read in it, and
  // every constant index a block of its own.
  BlockStarts cuts;
  // Dimensions read at an index of several open loops, or at one that skips values.
  std::set<std::pair<sdfg::TensorId, int>> scattered;
};

struct SmtLimits {
  size_t max_terms = 300'000;      // of one side
  int64_t max_steps = 20'000'000;  // nodes visited, per side
};

// An index: affine in the variables of enclosing loops, or a term over unknown integers.
struct SmtIndex {
  bool symbolic = false;
  solver::RawId term = 0;  // symbolic
  int64_t constant = 0;
  absl::InlinedVector<std::pair<int, int64_t>, 3> terms;  // loop, coefficient
};

// A real value; `masked` means -infinity.
struct SmtValue {
  bool masked = false;
  solver::RawId term = 0;
  int sums = 0;  // largest number of sums in one monomial, as the operators stand
};

class SmtEvaluation {
 public:
  // `unfolded`: logical tensors read by definition. With `alignment` it is noted there how reads
  // meet the blocks, and digits of an index are taken one by one to that end; else it may be null.
  SmtEvaluation(const lineage::Problem& problem, const Relations& relations,
                const std::set<sdfg::TensorId>& unfolded, const BlockStarts& blocks,
                SmtAlignment* alignment, const SmtLimits& limits);
  ~SmtEvaluation();

  // A loop over [0, extent), entered at `value`; returns its number. Loops end in reverse order.
  int Open(int64_t value, int64_t extent);
  int64_t Value(int loop) const { return loops_[loop].value; }
  // The first index after the run that starts at the loop's value.
  int64_t End(int loop) const { return loops_[loop].end; }
  // The number of the loop's run, by which links name it.
  int Run(int loop) const { return loops_[loop].run; }
  // Ends the loop's run (checks how reads align with it).
  void Close();
  SmtIndex LoopIndex(int loop) const;

  // The element of a tensor by its definition (of one without producer: what it stands for).
  bool Defined(bool parallel, sdfg::TensorId tensor, const std::vector<SmtIndex>& index,
               SmtValue* out);
  bool IntegerDefined(bool parallel, sdfg::TensorId tensor, const std::vector<SmtIndex>& index,
                      SmtIndex* out);
  // The element as other tensors read it: related tensors by lineage, logical tensors as unknowns.
  bool Element(bool parallel, sdfg::TensorId tensor, const std::vector<SmtIndex>& index,
               SmtValue* out);
  bool IntegerElement(bool parallel, sdfg::TensorId tensor, const std::vector<SmtIndex>& index,
                      SmtIndex* out);
  bool Map(const std::vector<sdfg::IndexMap>& map, const std::vector<SmtIndex>& index,
           std::vector<SmtIndex>* out);
  solver::RawId IntegerTerm(const SmtIndex& index);

  solver::RawArena& arena() { return arena_; }
  const std::vector<solver::RawId>& premises() const { return premises_; }
  // Some operator in a branch that may not be taken has a premise, which is not among them.
  bool skips_premises() const { return skips_premises_; }
  const std::string& error() const { return error_; }
  // Every term is polynomial in the unknown values (no division by them, no functions).
  bool polynomial() const { return polynomial_; }
  int maxima() const { return maxima_; }
  // Some operator binds an index of more than one value.
  bool binds() const { return binds_; }
  // Every run is one whole block of what is read in it, and every constant index a block of its
  // own: the condition under which the indices of a block are interchangeable.
  bool aligned() const { return aligned_; }
  // Every run had length 1: the term is that of the full shapes.
  bool unreduced() const { return unreduced_; }
  bool reads_integers() const { return reads_integers_; }
  // Logical tensors that were read as unknown values since this was asked last.
  std::set<sdfg::TensorId> TakeUnknowns() { return std::exchange(unknowns_, {}); }

 private:
  friend class SmtApplication;
  bool Digit(const sdfg::IndexDigit& digit, const std::vector<SmtIndex>& index, SmtIndex* out);
  struct Loop {
    int run = 0;
    int64_t value = 0, end = 0;
    struct Read {
      int64_t block_length;  // the run must cover the block
      int64_t at;            // index read at the run's first value
      bool reversed;
      sdfg::TensorId tensor;
      int dim;
    };
    std::vector<Read> reads;
  };
  bool Fail(std::string message);
  int64_t Low(const SmtIndex& e) const;  // value at the loops' values
  // Shortens runs until low <= e < high on the whole of them; it holds at the loops' values.
  void Guard(const SmtIndex& e, int64_t low, int64_t high);
  void Bounds(const SmtIndex& e, int64_t* low, int64_t* high) const;
  int64_t Exact(const SmtIndex& e);  // runs on which e is constant
  bool DivMod(const SmtIndex& e, int64_t divisor, SmtIndex* quotient, SmtIndex* remainder);
  SmtIndex Sum(const SmtIndex& a, const SmtIndex& b);
  SmtIndex Scaled(const SmtIndex& a, int64_t factor);
  SmtIndex Symbolic(solver::RawId term) const;
  bool Unknown(sdfg::TensorId tensor, const std::vector<SmtIndex>& index, bool integer,
               solver::RawId* out);
  int64_t ReadAt(sdfg::TensorId tensor, int dim, const SmtIndex& e);
  void TakeDigitsOneByOne(const SmtIndex& e);
  const std::vector<std::vector<sdfg::VarId>>& Dependencies(const sdfg::IndexFunction& function);

  const lineage::Problem& problem_;
  const Relations& relations_;
  const std::set<sdfg::TensorId>& unfolded_;
  const BlockStarts& blocks_;
  SmtAlignment* const alignment_;  // may be null
  const SmtLimits limits_;
  solver::RawArena arena_;
  std::vector<Loop> loops_;
  std::vector<solver::RawId> premises_;
  std::map<sdfg::TensorId, int64_t> sign_;  // of unknowns: RawTerm::low of a variable
  std::set<sdfg::TensorId> unknowns_;
  std::map<const sdfg::IndexFunction*, std::vector<std::vector<sdfg::VarId>>> dependencies_;
  std::string error_;
  int64_t steps_ = 0;
  int depth_ = 0, nesting_ = 0;
  int guards_ = 0;  // enclosing selections whose condition is not decided
  int maxima_ = 0, runs_ = 0;
  bool polynomial_ = true, aligned_ = true, unreduced_ = true, reads_integers_ = false;
  bool binds_ = false, skips_premises_ = false;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_SMT_EVALUATION_H_
