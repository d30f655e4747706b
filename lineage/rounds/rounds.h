// Finds the rounds of a ring: the operators of a plan that do the same in each.
//
// Around a ring of n ranks pieces travel: in each round a rank hands on what it holds, so that
// after n rounds it has held the piece of every rank. A plan spells the rounds out. Here they are
// told apart: families of tensors, one of each round, and what rounds carry on from one to the
// next.
#ifndef PLANPROOF_LINEAGE_ROUNDS_ROUNDS_H_
#define PLANPROOF_LINEAGE_ROUNDS_ROUNDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sdfg/graph.h"

namespace planproof::lineage::rounds {

// Tensors of one form that vary over the ring's axis, one of each round.
struct Family {
  enum class Kind : uint8_t {
    kTravelling,  // each is the one before, handed on by one rank; the first is the piece itself
    kComputed,    // output `output` of operators of one function, `first` that of the first round;
                  // operands are those of a family in the same round, or the same in all rounds
    kMaximum,     // each the larger of the one before and what `first` makes of its own round
    kScaled,      // the last, which no round makes, times exp(M[r] - M[n - 1]): M the family
                  // `scale`, read at the dimensions `scale_dims`
  } kind = Kind::kTravelling;
  std::vector<sdfg::TensorId> members;  // by round
  sdfg::OperatorId first = sdfg::kNone;
  int output = 0;
  // With explicit coordinates and the piece after them. Of kComputed: what stands for the operators
  // of all rounds, where their functions differ. Of kMaximum, where a mask leaves out elements of
  // what is compared: the maximum of all of them; members are numbers, not more is known.
  std::shared_ptr<const sdfg::IndexFunction> function;
  int scale = -1;
  std::vector<int> scale_dims;  // by dimension of the scales: the output's, -1 where there is one
};

// What is left of a value that rounds carry on, after the last: `result`, once all is added up.
struct Total {
  enum class Kind : uint8_t {
    kSum,       // of the family's members
    kMaximum,   // the last member of a family of maxima
    kRescaled,  // sum over rounds r of b[r] exp(m[r] - m[n - 1]): b is what `first` makes of round
                // 0, and of others alike, m the family, read at the dimensions `scale_dims` of b
    kOfPieces,  // of the members of all rounds and ranks that belong to the piece of this rank:
                // sums that travel with the pieces and are home again
  } kind = Kind::kSum;
  sdfg::TensorId result = sdfg::kNone;
  int family = 0;
  sdfg::OperatorId first = sdfg::kNone;
  std::vector<int> scale_dims;
  int terms = -1;  // of kRescaled: the family b, if it is one
};

struct Rounds {
  sdfg::AxisId axis = sdfg::kNone;  // of the ring
  int64_t count = 0;                // rounds, and ranks of the ring
  int64_t step = 1;                 // rank c hands on to c + step: 1 or count - 1
  std::vector<Family> families;     // each after those that its operators read
  std::vector<Total> totals;
  std::vector<bool> operators;  // of the graph: those that the above stand for
  // The family that a tensor is the member of in round 0 (of a piece: the piece), or -1.
  std::vector<int> first_of;
};

// Nothing if there is no ring of at least kLeastRounds ranks, or if something else in the graph
// depends on one round: what is found always stands for all of it. The graph has been checked.
inline constexpr int64_t kLeastRounds = 8;
std::optional<Rounds> FindRounds(const sdfg::Graph& graph,
                                 const std::vector<sdfg::TensorId>& required);

}  // namespace planproof::lineage::rounds

#endif  // PLANPROOF_LINEAGE_ROUNDS_ROUNDS_H_
