#include "stages/claim.h"

namespace planproof::stages {

const char* ProofMethodName(ProofMethod method) {
  switch (method) {
    case ProofMethod::kNone:
      return "";
    case ProofMethod::kIdentical:
    case ProofMethod::kZ3Identical:
      return "identical";
    case ProofMethod::kNormalForm:
      return "normal form";
    case ProofMethod::kUnfolded:
      return "unfolded";
    case ProofMethod::kZ3:
      return "z3";
    case ProofMethod::kZ3Unfolded:
      return "z3 unfolded";
  }
  return "";
}

}  // namespace planproof::stages
