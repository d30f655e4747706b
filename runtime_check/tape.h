// Defines tapes: programs for one output of an operator, as flat lists of instructions over
// registers.
//
// A tape computes the elements in row-major order, in strips of up to kLanes elements. A
// register holds one value per lane, or one for all lanes (uniform). Loops and branches are jumps;
// nothing is called back and nothing is allocated while it runs. What a kernel for another machine
// would be generated from is this list: lanes are its threads.
//
// Sums are added up in the order of their index, in blocks of kSumBlock terms, which are added up
// with compensation (Kahan's): the round-off of a sum is that of a block, whatever its length.
// Otherwise the same sum, cut over devices, would differ by an error that grows with the length
// where many terms are equal, as in a witness.
#ifndef PLANPROOF_RUNTIME_CHECK_TAPE_H_
#define PLANPROOF_RUNTIME_CHECK_TAPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime_check/opaque_values.h"
#include "sdfg/index_function.h"

namespace planproof::runtime_check {

inline constexpr int kLanes = 64;
inline constexpr int64_t kSumBlock = 32;

// Registers are int, real or truth by the operation; a, b, c are operands.
enum class Code : uint8_t {
  // Whole numbers
  kMultiplyAdd,  // a + value * b
  kIntAdd,
  kIntScale,  // value * a
  kIntDiv,    // floor(a / value)
  kIntMod,
  kWhole,      // of a real, rounded to the nearest
  kReadInt,    // as kRead
  kIntSelect,  // a (truth) ? b : c
  // Real numbers
  kRead,  // element of input `value` at a + b; where c (truth, or -1) fails: NaN
  kPosition,
  kIndicator,
  kAdd,
  kMul,
  kNeg,
  kDiv,
  kPow,  // a ^ real
  kExp,
  kLog,
  kErf,
  kSin,
  kCos,
  kAbs,
  kMax,
  kMin,
  kSelect,
  kFill,     // real
  kSumStep,  // out += a; b: the block's sum; c: the compensation; value: the loop's variable
  kSumEnd,   // out += b; c: the compensation
  kMaxStep,  // out = max(out, a)
  kMinStep,
  // Truth values
  kWithin,  // 0 <= a < value, and b unless it is -1
  kIntLess,
  kIntLessEq,
  kIntEq,
  kRealLess,
  kRealLessEq,
  kRealEq,
  kIntNonzero,
  kRealNonzero,
  kAnd,
  kOr,
  kNot,
  // Control
  kLoop,        // out: int register of the variable, from 0 to value - 1; b: the matching kEndLoop
  kEndLoop,     // b: the matching kLoop
  kStrip,       // the same for strips of lanes; value: elements of all strips
  kEndStrip,    //
  kSkipIfNone,  // to b if a (truth) holds in no lane
  kSkipIfAll,   // to b if a holds in all lanes
  kKeepReal,    // a into row buffer `value`, at int register b
  kKeepInt,     //
  kOpaque,      // calls[value] of the row buffer and its arguments
  kStore,       // a real, to the output's next elements
  kStoreInt,
};

struct Instruction {
  Code code = Code::kFill;
  bool lanes = false;     // the result differs by lane: it is computed for each
  uint8_t uniform = 0;    // bit 0, 1, 2: operand a, b, c is one value for all lanes
  bool required = false;  // kRead, kReadInt: c must hold
  int32_t out = -1, a = -1, b = -1, c = -1;
  int64_t value = 0;
  double real = 0;
};

// An application of an opaque function: of a row (registers are kept by kKeepReal, kKeepInt) and
// scalars.
struct OpaqueCall {
  OpaqueFunction function;
  int64_t row_extent = 0;  // 0: there is no row
  int row_lanes = 1;       // kLanes if rows differ by lane
  bool int_row = false;
  bool int_valued = false;
  struct Argument {
    bool is_int = false;
    int32_t reg = -1;
    bool uniform = false;
  };
  std::vector<Argument> arguments;
};

// A dimension of the output in which lanes differ: its position is element / stride % extent of the
// strip's elements.
struct LaneDimension {
  int32_t reg = -1;
  int64_t stride = 1, extent = 1;
};

struct Tape {
  std::vector<Instruction> code;
  int32_t ints = 0, reals = 0, truths = 0;  // numbers of registers
  std::vector<std::pair<int32_t, int64_t>> int_constants;
  std::vector<std::pair<int32_t, double>> real_constants;
  std::vector<LaneDimension> lane_dimensions;
  std::vector<OpaqueCall> calls;
  bool int_output = false;
  // The output's elements are elements of operands, or 0: nothing is computed that could be
  // rounded.
  bool moves_only = false;
  // About how many lane operations a run takes, all branches counted.
  double work = 0;
  std::string operator_name;
  std::vector<std::string> input_names;
  int64_t number = 0;  // of this process; no two that were compiled have the same
};

// The program for output number `output`. Unimplemented if there is something that a tape cannot
// do.
absl::StatusOr<Tape> Compile(const sdfg::IndexFunction& function, int output);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_TAPE_H_
