// Opens the files in which proofs are remembered, for this engine.
#ifndef PLANPROOF_STAGES_WORKERS_PROOF_FILES_H_
#define PLANPROOF_STAGES_WORKERS_PROOF_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "verdict_cache/store.h"

namespace planproof::stages {

// $XDG_CACHE_HOME/planproof or ~/.cache/planproof; empty if neither variable helps.
std::string DefaultCacheDirectory();
// The store in this directory (empty: the user's); null if there is none.
std::unique_ptr<verdict_cache::Store> CacheIn(const std::string& directory, int64_t megabytes);
// The journal in this file, which is left alone if it is something else.
std::unique_ptr<verdict_cache::Store> JournalIn(const std::string& file);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_PROOF_FILES_H_
