// Writes the counterexample of a refuted plan into files (--witness-out).
#ifndef PLANPROOF_CLI_WITNESS_OUTPUT_H_
#define PLANPROOF_CLI_WITNESS_OUTPUT_H_

#include <string>

#include "lineage/lineage.h"
#include "stages/result.h"

namespace planproof::cli {

// Whether a file of this name is the data of a stage's script: NAME.npz.
bool IsStageScript(const std::string& path);

// Writes the counterexample, if there is one: to NAME.npz and NAME.py the stage that is wrong as a
// script for NumPy, to any other name a witness file. False, with a message, if that fails;
// a message only where the plan is too large for a script, or has what NumPy has not.
// `problem` is null only where no plan could be read.
bool WriteWitness(const std::string& path, const lineage::Problem* problem,
                  const stages::Result& result);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_WITNESS_OUTPUT_H_
