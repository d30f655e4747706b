#include "stages/verdict.h"

namespace planproof::stages {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return "PROVED";
    case Verdict::kUnknown:
      return "UNKNOWN";
    case Verdict::kRefuted:
      return "REFUTED";
    case Verdict::kMalformed:
      return "MALFORMED";
  }
  return "UNKNOWN";
}

int VerdictExitCode(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return 0;
    case Verdict::kUnknown:
      return 3;
    case Verdict::kRefuted:
      return 1;
    case Verdict::kMalformed:
      return 2;
  }
  return 3;
}

}  // namespace planproof::stages
