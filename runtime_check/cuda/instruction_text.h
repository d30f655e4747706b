// Writes an instruction of a tape as a statement of C++.
#ifndef PLANPROOF_RUNTIME_CHECK_CUDA_INSTRUCTION_TEXT_H_
#define PLANPROOF_RUNTIME_CHECK_CUDA_INSTRUCTION_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime_check/cuda/kernel_source.h"
#include "runtime_check/tape.h"

namespace planproof::runtime_check::cuda {

enum class RegisterSort : uint8_t { kInt, kReal, kTruth };

struct Register {
  RegisterSort sort = RegisterSort::kInt;
  int32_t number = 0;
  bool operator<(const Register& other) const {
    return std::pair(sort, number) < std::pair(other.sort, other.number);
  }
  std::string name() const;
};

// Registers that the instruction reads; the variables of loops are among them.
std::vector<Register> ReadBy(const Tape& tape, const Instruction& instruction);
// Those that it writes: at most three.
std::vector<Register> WrittenBy(const Tape& tape, const Instruction& instruction);

// Loops and skips open a block, which whoever asks closes where they end.
std::string StatementOf(const Tape& tape, const KernelTypes& types, const Instruction& instruction);

// First element, among a thread's rows, of the row of call number `call`.
int64_t RowOffset(const Tape& tape, int64_t call);

// A literal of type A.
std::string RealLiteral(double value);

}  // namespace planproof::runtime_check::cuda

#endif  // PLANPROOF_RUNTIME_CHECK_CUDA_INSTRUCTION_TEXT_H_
