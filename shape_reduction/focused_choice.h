// Chooses inputs under which one suspected place of a large graph shows at little cost.
//
// - Residual branches (x + f(x)) far from the place are closed: the last parameter of the branch is
//   zero, so that the branch adds nothing. What the place changes reaches the outputs undamped, and
//   layers that are closed do the same to the same values: they are evaluated once.
// - Inputs are cut at the slices that the place's ranks and microbatches hold, and hardly
// elsewhere.
// - Of dimensions whose positions are compared with each other (a causal mask) few positions are
//   told apart; real inputs of the batch (a loss mask) are zero at all others. Where ranks hold
//   parts of a sequence, these are positions of several parts in some attempts: a sum over the
//   parts that is missing shows only where more than one adds to it.
// - Parameters of equal shape and use are equal, but for those near the place.
// - Integers are the same at all positions but the last two of two rows in some attempts: what an
//   exchange of batch and sequence does moves these elsewhere, all else stays as it is, and what
//   the last positions compute no mask makes wide. Where the others look up zeros besides, they
//   add nothing to any gradient: that does what a loss mask does elsewhere.
//
// Like any choice it restricts the inputs on which the graphs are compared, and nothing else.
#ifndef PLANPROOF_SHAPE_REDUCTION_FOCUSED_CHOICE_H_
#define PLANPROOF_SHAPE_REDUCTION_FOCUSED_CHOICE_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lineage/lineage.h"
#include "shape_reduction/focus.h"
#include "shape_reduction/input_choice.h"
#include "shape_reduction/zeroing_parameters.h"

namespace planproof::shape_reduction {

class FocusedChooser {
 public:
  static constexpr size_t kMaxRequired = 8;  // relations compared

  FocusedChooser(const lineage::Problem& problem, const InputChooser& inputs,
                 ProgramCache* programs);

  // One value per logical tensor without producer, null for all others. Attempts differ in values,
  // in cuts, and in how many branches stay open.
  // `cuts`: how dimensions are cut, by extent.
  std::vector<BlockTensorPtr<double>> Choose(const Focus& focus, uint64_t attempt,
                                             PartitionsByExtent* cuts = nullptr) const;

  // The attempt to be made at this turn. Without a loss mask positions are singled out early, as
  // little else shows there; attempts with many blocks wait for some cheaper ones.
  uint64_t AttemptAt(uint64_t turn) const;
  // Positions in Problem::required of relations that the focus can affect: those whose tensors are
  // nearest to it, and those that depend on least; at most `most`.
  std::vector<int> NearestRequired(const Focus& focus, size_t most) const;
  // Where a few positions are unlike all others, the relations that show them by themselves: of the
  // gradient of a table in which they alone look up their rows; and of the gradient of what closes
  // the branch around the place, in which the branch counts fully however little it adds.
  std::vector<int> LoneRequired(const Focus& focus, uint64_t attempt) const;
  // Whether the relation at this position is of the forward pass.
  bool BeforeGradients(int required) const {
    return backward_[problem_.required[required].lineage.logical] == 0;
  }
  // Whether it is of a single number that depends on the loss: a gradient's norm, say.
  bool AddsUpGradients(int required) const {
    return IsSumOfGradients(problem_.required[required].lineage.logical);
  }

 private:
  // x + f(x) in the forward pass.
  struct Branch {
    sdfg::TensorId end = sdfg::kNone;     // f(x)
    sdfg::TensorId sum = sdfg::kNone;     // x + f(x)
    ZeroingParameters zeroing;            // of f(x)
    std::set<sdfg::TensorId> parameters;  // all that f(x) is computed from, since the last sum
  };
  // What a norm's parameters scale is multiplied with the tables.
  struct Norm {
    std::set<sdfg::TensorId> factors, tables;
  };
  struct AttemptKind {
    bool large = false;        // what branches are added to
    bool spread = false;       // positions of several parts of a sequence are told apart
    bool fresh = false;        // the optimizer's state is zero: gradients show undamped
    bool sparse = false;       // real inputs are zero at positions that are not told apart
    bool compare = false;      // integers with which operators compare
    bool faint = false;        // open branches hardly add anything
    int flat = 0;              // scores are zero: 1, 2: these of every two of their parameters are
    bool calm = false;         // scores are small, whatever they are multiplied with
    bool last = false;         // the last expert is chosen more often than others
    bool lone = false;         // a few positions are unlike all others
    bool blank = false;        // and look up the only rows that are not zero
    bool quiet = false;        // positions that are not told apart look up zeros
    size_t more_branches = 0;  // that stay open
  };
  // What the values of one attempt depend on.
  struct Attempt {
    AttemptKind kind;
    bool total = false;  // the place is a sum of all gradients
    PartitionsByExtent partitions;
    std::map<int64_t, std::pair<int64_t, int64_t>> held;   // by extent: what the focus holds
    std::map<int64_t, std::pair<int64_t, int64_t>> place;  // and what of it shows by itself
    std::map<int64_t, std::set<int64_t>> apart;            // by extent: positions told apart
    std::set<sdfg::TensorId> closed, narrow;  // parameters that are zero, that are small
    std::map<sdfg::TensorId, double> scales;  // of parameters that are larger or smaller than usual
    std::set<sdfg::TensorId> last_raised;     // norms' weights of which the last element is large
  };
  using Random = InputChooser::Random;
  AttemptKind KindOf(const Focus& focus, uint64_t attempt) const;
  // `distance`: Distances of the focus.
  Attempt Prepare(const Focus& focus, uint64_t number, const std::vector<int>& distance) const;
  void ChooseIntegers(sdfg::TensorId id, const Attempt& attempt, Random* random,
                      BlockTensor<double>* chosen) const;
  void ChooseReals(sdfg::TensorId id, const Attempt& attempt, Random* random,
                   BlockTensor<double>* chosen) const;
  static constexpr int64_t kLonePositions = 4;  // at most
  std::vector<std::vector<int64_t>> LonePositions(const sdfg::Shape& shape,
                                                  const Attempt& attempt) const;
  void CutAroundLone(std::map<int64_t, std::vector<int64_t>>* cuts, Attempt* attempt) const;
  std::vector<sdfg::TensorId> GradientsOf(sdfg::TensorId parameter) const;
  void TellNeighboursApart(sdfg::TensorId id, const Attempt& attempt, Random* random,
                           BlockTensor<double>* chosen) const;
  void SingleOut(sdfg::TensorId id, const Attempt& attempt, BlockTensor<double>* chosen) const;
  void Quieten(sdfg::TensorId id, const Attempt& attempt, BlockTensor<double>* chosen) const;
  // A block of a tensor, and a position that it is at in a dimension whose positions are compared.
  struct Position {
    int64_t block = 0;
    bool told = false;    // apart from others
    int64_t before = -1;  // the block at the position before, if both are told apart
  };
  std::vector<Position> PositionsOf(const BlockTensor<double>& chosen,
                                    const Attempt& attempt) const;
  void ClearUntold(const Attempt& attempt, BlockTensor<double>* chosen) const;
  // A parameter with one dimension: of a norm, or a bias.
  static bool IsFactor(const sdfg::Tensor& tensor);
  // Of the last parameters of scores every second one is alike: 0 or 1; -1: it is none.
  int ScoreTurn(sdfg::TensorId id) const {
    const auto found = last_of_scores_.find(id);
    return found == last_of_scores_.end() ? -1 : std::distance(last_of_scores_.begin(), found) % 2;
  }
  // The model ranks what it makes of the tensor's rows.
  bool IsRanked(sdfg::TensorId id) const;
  // It is added to what is ranked, and tells more than that does.
  bool IsRankingBias(sdfg::TensorId id) const;
  bool HasRankingBias(sdfg::TensorId ranked) const;
  std::vector<int64_t> ChosenFirst(int64_t extent, const Attempt& attempt, Random* random) const;
  void RankLast(sdfg::TensorId id, BlockTensor<double>* chosen) const;
  // What the logical tensor is an unchanged copy of, or itself.
  sdfg::TensorId CopiedFrom(sdfg::TensorId tensor) const;
  void FindCompared();
  void FindBranches();
  void FindNorms();
  void FindParameters(const std::set<sdfg::TensorId>& sums, Branch* branch) const;
  static void Rescale(const Norm& norm, double scale, bool last, Attempt* attempt);
  void CalmBranch(const Branch& branch, Attempt* attempt) const;
  void RescaleBranch(const Branch& branch, double scale, Attempt* attempt) const;
  void RescaleHead(bool last, Attempt* attempt) const;
  void FindScores();
  void FindEdges();
  void FindDeviating();
  void FindHead();
  void FindLookups();
  bool IsSumOfGradients(sdfg::TensorId place) const;
  // Computed from a tensor with a row and a column for each position of a sequence.
  bool ReadsScores(sdfg::TensorId place) const;
  void AddSummands(std::set<sdfg::TensorId>* sums) const;
  // Read by nothing but what depends on the loss.
  bool OnlyAfterLoss(sdfg::TensorId source) const;
  std::vector<sdfg::TensorId> ForwardAnchors(sdfg::TensorId place) const;
  std::vector<size_t> Nearest(const Focus& focus, const std::vector<int>& distance) const;
  std::set<sdfg::TensorId> NearestUpdated(const Focus& focus) const;
  bool TakeTurns(const Focus& focus, uint64_t number, std::vector<size_t>* nearest) const;
  // By tensor: the least number of operators by which it is computed from the place; -1: it is not,
  // or only by way of a tensor of `beyond`.
  static std::vector<int> Downstream(const sdfg::Graph& graph, sdfg::TensorId place,
                                     const std::set<sdfg::TensorId>& beyond = {});
  // By logical tensor: the number of operators between it and the place; -1: far.
  std::vector<int> Distances(sdfg::TensorId from) const;
  std::map<int64_t, std::vector<int64_t>> DigitCuts(const Focus& focus) const;
  // A dimension of a logical tensor where a place holds it: how long the part is (0: unknown) and
  // the whole, where the part begins, and whether positions of the dimension are compared.
  struct HeldPart {
    int64_t extent = 0, whole = 0, first = 0;
    bool compared = false;
  };
  std::vector<HeldPart> HeldParts(const Focus& focus) const;
  std::map<int64_t, std::vector<int64_t>> CutsOfExchanges(const Focus& focus) const;
  std::map<int64_t, std::vector<int64_t>> CutsOfMaskParts(const Focus& focus) const;
  void Cut(const Focus& focus, uint64_t number, Attempt* attempt) const;

  const std::optional<lineage::Problem> named_;  // if the model names no parameters
  const lineage::Problem& problem_;
  const InputChooser& inputs_;
  ProgramCache& programs_;
  std::vector<std::vector<sdfg::OperatorId>> consumers_;  // by logical tensor
  std::vector<char> backward_;                            // by logical tensor: depends on the loss
  std::set<int64_t> compared_;  // extents of dimensions whose positions are compared
  std::vector<Branch> branches_;
  // By extent: first and last indices of the parts in which devices hold it. An id that is one of
  // them shows a part that begins or ends elsewhere.
  std::map<int64_t, std::vector<int64_t>> edges_;
  // By extent: where the parts begin that deviating ranks hold; a few.
  std::map<int64_t, std::vector<int64_t>> deviating_;
  // By extent with comparisons: the first two positions and the last one of a few parts.
  std::map<int64_t, std::set<int64_t>> ends_of_parts_;
  std::vector<Norm> norms_;
  std::set<sdfg::TensorId> scores_;  // parameters that reach residual sums by exponentials only
  std::set<sdfg::TensorId> last_of_scores_;  // of these: none is multiplied with what it makes
  bool masked_ = false;                      // a real input tells which positions count
  bool quiet_ = false;                       // and what is zero can be ranked, if anything is
  bool ranks_ = false;                 // the model ranks what it computes: IsRanked of some source
  sdfg::TensorId head_ = sdfg::kNone;  // the parameter of the last contraction before the loss
  std::set<sdfg::TensorId> lookups_;   // parameters of which integers choose rows
  std::vector<sdfg::TensorId> table_gradients_;  // of these
};

}  // namespace planproof::shape_reduction

#endif  // PLANPROOF_SHAPE_REDUCTION_FOCUSED_CHOICE_H_
