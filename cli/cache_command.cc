#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/text_layout.h"
#include "stages/workers/proof_files.h"
#include "strategy/run_journal.h"

namespace planproof::cli {
namespace {

int Fail(const std::string& message) {
  std::fprintf(stderr, "planproof: %s\n", message.c_str());
  return kUsageError;
}

// What a store has to say why it does not work.
int FailWith(const verdict_cache::Store& store) {
  return Fail(store.warnings().empty() ? store.path() + ": not readable" : store.warnings().back());
}

int RunInfo(const std::string& directory) {
  const std::unique_ptr<verdict_cache::Store> store = stages::CacheIn(directory, 1);
  if (!store) return Fail("no cache: neither XDG_CACHE_HOME nor HOME names a directory");
  if (!std::filesystem::exists(store->path())) {
    std::printf("%s\n  proofs     none yet\n", store->path().c_str());
    return kSuccess;
  }
  const auto about = store->Describe();
  if (!about) return FailWith(*store);
  for (const std::string& warning : store->warnings())
    std::fprintf(stderr, "planproof: %s\n", warning.c_str());
  const int64_t today = std::chrono::duration_cast<std::chrono::hours>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count() /
                        24;
  std::printf("%s\n  proofs     %s, %s of this version of the program\n  size       %.1f MB\n",
              store->path().c_str(), report::Grouped(about->rows).c_str(),
              report::Grouped(about->rows_of_engine).c_str(),
              static_cast<double>(about->bytes) / (1 << 20));
  if (about->rows > 0)
    std::printf("  oldest     last used %s days ago\n",
                report::Grouped(today - about->oldest_day).c_str());
  return kSuccess;
}

int RunClear(const std::string& directory) {
  const std::unique_ptr<verdict_cache::Store> store = stages::CacheIn(directory, 1);
  if (!store) return Fail("no cache: neither XDG_CACHE_HOME nor HOME names a directory");
  const absl::Status deleted = verdict_cache::DeleteStoreFile(store->path());
  if (deleted.ok()) {
    std::printf("%s: deleted\n", store->path().c_str());
    return kSuccess;
  }
  // In use by another run: emptied instead.
  if (deleted.code() != absl::StatusCode::kUnavailable || !store->Open())
    return Fail(std::string(deleted.message()));
  store->Clear();
  std::printf("%s: emptied\n", store->path().c_str());
  return kSuccess;
}

int RunJournal(const std::string& file) {
  std::FILE* exists = std::fopen(file.c_str(), "rb");
  if (exists == nullptr) return Fail(file + ": no such journal");
  std::fclose(exists);
  const std::unique_ptr<verdict_cache::Store> store = stages::JournalIn(file);
  if (!store->Open()) return FailWith(*store);
  if (!strategy::IsJournal(store.get()))
    return Fail(file + ": is no journal but a cache of proofs; see planproof cache info");
  const strategy::RunSummary run = strategy::Summarize(store.get());
  std::printf("journal of %s\n", report::OneLine(run.files, 400).c_str());
  std::printf("  decided    %s of %s classes, %s of %s stages: %s classes proved\n",
              report::Grouped(run.classes_decided).c_str(), report::Grouped(run.classes).c_str(),
              report::Grouped(run.claims_decided).c_str(), report::Grouped(run.claims).c_str(),
              report::Grouped(run.classes_proved).c_str());
  for (size_t i = 0; i < run.not_proved.size() && i < 20; ++i) {
    std::printf("  not proved %s: %s\n", report::OneLine(run.not_proved[i].stage, 100).c_str(),
                report::OneLine(run.not_proved[i].reason, 200).c_str());
  }
  std::printf("  verdict    %s\n", run.verdict.empty()
                                       ? "none, the run did not end; the same command with "
                                         "--resume goes on from here"
                                       : run.verdict.c_str());
  return kSuccess;
}

}  // namespace

void AddCacheCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("cache", "What is remembered between runs");
  auto directory = std::make_shared<std::string>();
  auto what = std::make_shared<std::string>();
  command->add_option("WHAT", *what, "info: where, how much; clear: forget everything")
      ->required()
      ->check(CLI::IsMember({"info", "clear"}));
  command->add_option("--cache", *directory, "Directory of the cache");
  command->footer("Example:\n  planproof cache info");
  command->callback([directory, what, &action] {
    action = [directory, what] {
      return *what == "info" ? RunInfo(*directory) : RunClear(*directory);
    };
  });
}

void AddJournalCommand(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("journal", "What an interrupted run with --journal had decided");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "The journal")->required();
  command->footer(
      "Example:\n"
      "  planproof verify logical.plan parallel.plan --journal run.journal\n"
      "  planproof journal run.journal\n"
      "  planproof verify logical.plan parallel.plan --journal run.journal --resume");
  command->callback([file, &action] { action = [file] { return RunJournal(*file); }; });
}

}  // namespace planproof::cli
