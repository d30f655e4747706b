// Finds memory that a program keeps from one iteration to the next: what reads and writes it.
//
// What is read before it is written, and written later, is a state, whether it has a name or not.
// How it is used says which state it is: the operators with their lines, in order, and the
// parameters beside which it is an operand. Two processes that run the same program use a state in
// the same way.
#ifndef PLANPROOF_FRONTEND_TORCH_STATE_USES_H_
#define PLANPROOF_FRONTEND_TORCH_STATE_USES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// One operator that has a state among its operands.
struct StateUse {
  std::string op, source, module;
  int32_t argument = 0;  // position; -1: by the number that Python read from it
  auto operator<=>(const StateUse&) const = default;  // NOLINT(modernize-use-nullptr)
};

// A range of a storage's elements that holds a value before the iteration, and is read.
struct StateRegion {
  StorageId storage = 0;
  int64_t begin = 0, end = 0;
  TensorNumber tensor = 0;       // by which it is read first
  int32_t input = -1;            // position of the input that names it; -1: none
  bool written = false;          // later
  std::vector<StateUse> uses;    // in order
  std::set<std::string> beside;  // parameters that, or whose gradients, are operands of these
};

// The named states of an optimizer, and regions without a name of real numbers whose storages say
// what they hold. Storages whose regions overlap in part are left out.
std::vector<StateRegion> StateRegionsOf(const Trace& trace);

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_STATE_USES_H_
