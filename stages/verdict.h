// Defines the four answers.
#ifndef PLANPROOF_STAGES_VERDICT_H_
#define PLANPROOF_STAGES_VERDICT_H_

#include <cstdint>

namespace planproof::stages {

enum class Verdict : uint8_t { kProved, kUnknown, kRefuted, kMalformed };  // ascending: worst last
const char* VerdictName(Verdict verdict);                                  // "PROVED", ...
int VerdictExitCode(Verdict verdict);                                      // 0, 3, 1, 2

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_VERDICT_H_
