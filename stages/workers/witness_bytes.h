// Encodes what a search for a counterexample and its diagnosis found as bytes
// (counterexample.proto), for the way from a worker to its parent.
#ifndef PLANPROOF_STAGES_WORKERS_WITNESS_BYTES_H_
#define PLANPROOF_STAGES_WORKERS_WITNESS_BYTES_H_

#include <string>
#include <vector>

#include "shape_reduction/replay.h"
#include "shape_reduction/witness.h"
#include "stages/result.h"

namespace planproof::stages {

// All but the first deviation and the evaluation, which stay with the worker.
std::string ToBytes(const shape_reduction::Witness& witness);
std::string ToBytes(const std::vector<Violation>& violations);
std::string ToBytes(const shape_reduction::Sample& sample);

// False if these are not the bytes that ToBytes writes for some value; what is read then is
// unspecified.
bool FromBytes(const std::string& bytes, shape_reduction::Witness* witness);
bool FromBytes(const std::string& bytes, std::vector<Violation>* violations);
bool FromBytes(const std::string& bytes, shape_reduction::Sample* sample);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_WITNESS_BYTES_H_
