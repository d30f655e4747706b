#include "cli/proof_stores.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/load_problem.h"
#include "stages/workers/proof_files.h"
#include "strategy/run_journal.h"

namespace planproof::cli {
absl::StatusOr<ProofStores> ProofStores::Open(const StoreArguments& arguments,
                                              const std::vector<std::string>& files) {
  ProofStores stores;
  if (!arguments.no_cache)
    stores.cache_ = stages::CacheIn(arguments.cache_directory, arguments.cache_megabytes);
  if (arguments.journal.empty()) {
    if (arguments.resume && !stores.cache_)
      return frontend::UsageError(
          absl::StatusCode::kNotFound,
          "--resume has nothing to go on from: name the run's --journal FILE, or leave out "
          "--no-cache");
    return stores;
  }
  const bool exists = std::filesystem::exists(arguments.journal);
  if (arguments.resume && !exists)
    return frontend::UsageError(
        absl::StatusCode::kNotFound,
        absl::StrCat(arguments.journal,
                     ": no such journal; leave out --resume to begin a run that writes it"));
  stores.journal_ = stages::JournalIn(arguments.journal);
  if (!stores.journal_->Open())
    return frontend::UsageError(absl::StatusCode::kFailedPrecondition,
                                stores.journal_->warnings().back());
  if (exists && !strategy::IsJournal(stores.journal_.get()))
    return frontend::UsageError(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat(arguments.journal,
                     ": is no journal but a cache of proofs, and is left as it "
                     "is; name another file"));
  if (exists && !arguments.resume) stores.journal_->Clear();
  strategy::NoteFiles(stores.journal_.get(), absl::StrJoin(files, " "));
  return stores;
}

void ProofStores::SetOptions(stages::VerifyOptions* options) const {
  for (verdict_cache::Store* store : {journal_.get(), cache_.get()}) {
    if (store != nullptr) options->stores.push_back(store);
  }
  options->journal = journal_.get();
}

void ProofStores::Close(bool ended, stages::Result* result) {
  if (journal_ && ended) strategy::NoteVerdict(journal_.get(), *result);
  for (verdict_cache::Store* store : {journal_.get(), cache_.get()}) {
    if (store == nullptr) continue;
    store->Close();
    for (const std::string& warning : store->warnings()) {
      result->warnings.push_back(
          absl::StrCat(store == journal_.get() ? "journal: " : "cache: ", warning));
    }
  }
}

void AddStoreOptions(CLI::App* command, StoreArguments* arguments) {
  command->add_option("--cache", arguments->cache_directory,
                      "Directory where proofs are remembered between runs (default:"
                      " $XDG_CACHE_HOME/planproof or ~/.cache/planproof)");
  command
      ->add_option("--cache-size", arguments->cache_megabytes,
                   "MB that the cache may take; what was not used for longest goes first")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--no-cache", arguments->no_cache,
                    "Decide every class anew, and remember nothing");
  command->add_option("--journal", arguments->journal,
                      "Write what is decided to this file while the run goes on (planproof journal"
                      " FILE lists it)");
  command->add_flag("--resume", arguments->resume,
                    "Go on from an interrupted run: take over what its --journal, or the cache,"
                    " says is proved");
}

}  // namespace planproof::cli
