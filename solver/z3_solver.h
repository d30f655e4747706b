// Asks Z3 whether two raw terms are equal for all values of their variables.
//
// Z3 is not linked: the module libplanproof_z3.so (z3_module.cc) is loaded when the first question
// is asked, so that a run which needs no Z3 does not pay for loading it, and a build without Z3
// works.
#ifndef PLANPROOF_SOLVER_Z3_SOLVER_H_
#define PLANPROOF_SOLVER_Z3_SOLVER_H_

#include <string>
#include <vector>

#include "solver/smt_term.h"

namespace planproof::solver {

struct SmtQuestion {
  const RawArena* left_arena = nullptr;
  const RawArena* right_arena = nullptr;
  RawId left = 0, right = 0;
  std::vector<RawId> left_premises, right_premises;  // booleans that may be assumed
  bool ask_domain = false;  // whether the right term has a value wherever the left one has
  double timeout_s = 5;
  std::string dump_file;              // SMT-LIB 2, written when not empty
  std::vector<std::string> comments;  // first lines of that file
};

enum class SmtVerdict : uint8_t { kEqual, kDifferent, kUnknown };

struct SmtAnswer {
  SmtVerdict verdict = SmtVerdict::kUnknown;
  std::string reason;  // kUnknown: why; kEqual: how
  // kEqual, which presupposes that both terms have a value, and the domain was asked for: the right
  // one was shown to have a value wherever the left one has.
  bool defined = false;
  RawValues model;  // kDifferent: values of the variables, confirmed numerically
  double left = 0, right = 0;
};

// kDifferent only if both terms, evaluated at the model's values or at values near by, are defined
// and clearly differ; a model that does not survive this (functions that Z3 does not know) is
// kUnknown.
SmtAnswer AskZ3(const SmtQuestion& question);

// Empty if the module can be loaded, otherwise what is missing.
const std::string& Z3Missing();

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_Z3_SOLVER_H_
