// Holds what one iteration executes on each rank, as data: operators in order, with the memory that
// they read and write (docs/monitor-format.md, "The program").
#ifndef PLANPROOF_MONITOR_PROVED_PROGRAM_H_
#define PLANPROOF_MONITOR_PROVED_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::monitor {

// What a piece of memory holds when the iteration begins.
enum class MemoryRole : uint8_t {
  kNone,       // nothing with a name: temporaries, constants, and in a run the batch
  kParameter,  // or a buffer
  kState,      // of an optimizer
  kData,       // an input of the iteration, or what is computed of such alone
};

struct ProgramMemory {
  MemoryRole role = MemoryRole::kNone;
  std::string name;  // of a parameter or state
};

struct ProgramTensor {
  int32_t memory = 0;
  std::string dtype;  // as PyTorch calls it
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

// An argument of an operator, flat: a list is its entries between kOpen and kClose.
struct ProgramToken {
  enum class Kind : uint8_t {
    kOpen,
    kClose,
    kNothing,
    kTruth,   // `whole` is 0 or 1
    kWhole,   // `whole`
    kReal,    // `real`
    kText,    // `text`: also an element type, and the name before a named argument
    kTensor,  // `whole` is its position in RankProgram::tensors
    kNumber,  // of a tensor's element: any number
  };
  Kind kind = Kind::kNothing;
  int64_t whole = 0;
  double real = 0;
  std::string text;
};

// What an operator is for the comparison of programs.
enum class OperatorKind : uint8_t {
  kComputes,
  kCollective,
  kCopies,  // its first result has the elements of an argument
  kDraws,   // its result depends on no tensor's elements
  kMakes,   // memory without defined elements
  kClears,  // fills memory with zeros
};

struct ProgramOperator {
  OperatorKind kind = OperatorKind::kComputes;
  std::string name;  // "aten.mul.Tensor"; of a collective "all_reduce"
  std::vector<ProgramToken> arguments;
  std::vector<int32_t> results;  // positions in RankProgram::tensors
  std::vector<int32_t> writes;   // of those, and of arguments, what it writes in place
  std::vector<int32_t> group;    // of a collective: ranks
  std::string source;            // "train.py:12: loss = model(x).sum()"
  std::string module;
  bool between = false;  // of a run: before gradients are cleared and a model is called
};

struct RankProgram {
  int32_t rank = 0;
  std::vector<ProgramMemory> memory;
  std::vector<ProgramTensor> tensors;
  std::vector<ProgramOperator> operators;
  std::vector<int32_t> updated;  // memory of what the iteration is for
  // Some tensors have sizes that data decide, as those of experts' tokens: no size is compared.
  bool sizes_by_data = false;
};

// Operators from which parameters, buffers and states are computed, in order; what reads the data
// in another layout, draws random numbers, clears gradients, or prepares the batch is left out.
RankProgram RelevantPart(const RankProgram& program);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_PROGRAM_H_
