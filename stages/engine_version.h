// Identifies this prover.
#ifndef PLANPROOF_STAGES_ENGINE_VERSION_H_
#define PLANPROOF_STAGES_ENGINE_VERSION_H_

namespace planproof::stages {

// SHA-256, in hexadecimal digits, of the sources that a verdict about a claim depends on and of the
// compiler's name and flags; made when the program is built (cmake/EngineVersion.cmake). Two
// programs with one version decide claims alike.
const char* EngineVersion();

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_ENGINE_VERSION_H_
