// Reads a question to the Z3 module from the text that z3_solver.cc writes.
#ifndef PLANPROOF_SOLVER_Z3_REQUEST_H_
#define PLANPROOF_SOLVER_Z3_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "solver/smt_term.h"

namespace planproof::solver {

struct Z3Request {
  struct Node {
    RawOp op = RawOp::kTrue;
    int64_t low = 0, high = 0;
    std::string value, name;
    std::vector<int> args;  // smaller positions
  };
  unsigned timeout_ms = 5000;
  bool domain =
      false;  // also ask whether the right side has a value wherever the left side has one
  std::string dump;
  std::vector<std::string> comments;
  std::vector<Node> nodes;
  size_t left_nodes = 0;  // so many at the beginning are the left side's
  int left = 0, right = 0;
  std::vector<int> premises;
};

// False if the text is not a request.
bool ParseZ3Request(const char* text, Z3Request* request);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_Z3_REQUEST_H_
