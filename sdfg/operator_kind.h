// Says what an operator does in a plan: computes, communicates, or only states which value is
// meant.
//
// Readers translate their names of operators into a kind once; whoever decides something asks for
// the kind. What is computed is the operator's function alone, whatever the kind.
#ifndef PLANPROOF_SDFG_OPERATOR_KIND_H_
#define PLANPROOF_SDFG_OPERATOR_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace planproof::sdfg {

// The order is that of the raw form's numbers (frontend/plan/raw_form.proto): new kinds come last.
enum class OperatorKind : uint8_t {
  kCompute,         // from operands that its own rank holds
  kAllReduce,       // collectives among the ranks of a group or along an axis
  kAllGather,       //
  kReduceScatter,   //
  kAllToAll,        //
  kBroadcast,       //
  kReduce,          // only the root gets the result
  kPermute,         //
  kChunk,           // each rank keeps its part of what all of them hold: nothing is sent
  kMove,            // of a tensor from another program or device
  kWait,            // for the result of a collective or move that was started before
  kAccumulate,      // the sum over microbatches
  kSelectInstance,  // of another program's instances that which a rank of this program reads
  kReplicate,       // one tensor written out for every rank of an axis; no copy is made
  kRankOverride,    // the first operand at some coordinates, elsewhere the second ("exceptions")
  kMultiple,        // a constant multiple of its operand, which no operator reads: what the lineage
                    // of a tensor with a factor names
  kUninitialised,   // what memory holds that nothing has written
};
inline constexpr OperatorKind kLastOperatorKind = OperatorKind::kUninitialised;

// The kind of the collectives, moves and waits that plans spell so ("all_reduce", "move"); nothing
// for other names.
std::optional<OperatorKind> CommunicationFromName(std::string_view name);

// Collectives, moves, waits and selections: they say where values go, and compute no part of a
// model but sums over ranks and microbatches.
bool IsCommunication(OperatorKind kind);
// Every rank's result lies where its operand lay: it may be written over it.
bool ReducesInPlace(OperatorKind kind);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_KIND_H_
