// Chooses the files that remember proofs for a run: the user's cache, and a journal if one is asked
// for.
#ifndef PLANPROOF_CLI_PROOF_STORES_H_
#define PLANPROOF_CLI_PROOF_STORES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "stages/options.h"
#include "stages/result.h"
#include "verdict_cache/store.h"

namespace CLI {
class App;
}

namespace planproof::cli {

struct StoreArguments {
  std::string cache_directory;  // empty: the user's
  int64_t cache_megabytes = 256;
  bool no_cache = false;
  bool resume = false;
  std::string journal;  // empty: none
};

void AddStoreOptions(CLI::App* command, StoreArguments* arguments);

class ProofStores {
 public:
  // The cache is opened when it is first asked, a journal here. Errors are about the command line:
  // --resume without anything to resume from, a journal that is none.
  static absl::StatusOr<ProofStores> Open(const StoreArguments& arguments,
                                          const std::vector<std::string>& files);

  void SetOptions(stages::VerifyOptions* options) const;
  // Writes what waits; what went wrong becomes warnings of the result. `ended`: the run has come to
  // its verdict.
  void Close(bool ended, stages::Result* result);

 private:
  std::unique_ptr<verdict_cache::Store> cache_, journal_;
};

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_PROOF_STORES_H_
