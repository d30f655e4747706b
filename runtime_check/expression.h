// Prepares the expression of one output of an index function for a tape.
//
// What an element costs is decided here: reads become reads at one flat offset, whose part that is
// the same for all lanes is apart from the part that differs, and is added up in the order in which
// loops nest, so that each loop adds one product. Indices that intervals do not keep within their
// dimension get a test. A sum over v of [v = e] g(v) is g(e), if e lies in the range of v, which
// makes one read of an embedding that is written as a sum over the vocabulary; and [c] x is x where
// c holds, else 0.
#ifndef PLANPROOF_RUNTIME_CHECK_EXPRESSION_H_
#define PLANPROOF_RUNTIME_CHECK_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/index_function.h"

namespace planproof::runtime_check {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

// A type of register: whole numbers, real numbers, truth values.
enum class Sort : uint8_t { kInt, kReal, kTruth };

// What a node is. Sorts and operands are those of sdfg::Op but for the first five.
enum class Form : uint8_t {
  kMultiplyAdd,  // I: args[0] + value * args[1]
  kWithin,       // B: 0 <= args[0] < value, and args[1] if there is one
  kRead,         // R: element of `input` at the flat offset args[0] (uniform) + args[1] (by lane)
  kReadInt,      // I: the same. args[2], if there is one: whether it is within the operand
  kOperation,    // `op`
};

struct Node {
  Form form = Form::kOperation;
  sdfg::Op op = sdfg::Op::kReal;
  Sort sort = Sort::kReal;
  bool guarded = false;  // it is used only where conditions hold, and need not be defined elsewhere
  sdfg::VarId var = -1;  // of an index, a reduction, the row of an opaque function
  int32_t input = -1;    // of a read
  int64_t value = 0;     // factors, divisors, extents, whole constants
  double real = 0;       // constants, exponents
  std::string name;      // of an opaque function
  std::vector<NodeId> args;
};

// Children have smaller ids; the last node is the root.
struct Expression {
  std::vector<Node> nodes;
  // By variable of the function: the reduction that binds it; kNoNode for dimensions of the output.
  std::vector<NodeId> binder;
  NodeId root() const { return static_cast<NodeId>(nodes.size()) - 1; }
};

// `lane` says of each variable of the function whether lanes differ in it. Unimplemented if there
// is an operation that a tape does not have.
absl::StatusOr<Expression> Lower(const sdfg::IndexFunction& function, int output,
                                 const std::vector<bool>& lane);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_EXPRESSION_H_
