// Whatever a journal holds: an error, or steps in order whose facts refer to what is there.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "monitor/journal/rank_journal.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckStep(const planproof::monitor::StepOfRank& step) {
  for (const auto& values : step.values) {
    Check(values.norms.size() == values.tensors.size());
    Check(values.fingerprints.size() == values.tensors.size());
    for (const int32_t tensor : values.tensors)
      Check(tensor >= 0 && static_cast<size_t>(tensor) < values.table->size());
  }
  for (const auto& options : step.options) {
    for (const auto& group : options.groups) {
      for (const int32_t tensor : group.tensors)
        Check(tensor >= 0 && static_cast<size_t>(tensor) < options.table->size());
    }
  }
  for (const auto& event : step.events)
    Check(event.subject == nullptr || event.subject->size() + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace monitor = planproof::monitor;
  static const std::string* const path =
      new std::string("/tmp/planproof_journal_fuzz_" + std::to_string(getpid()));
  std::ofstream(*path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  monitor::RankJournal journal(*path);
  int64_t last = -1;
  while (true) {
    const auto arrival = journal.ReadOn(/*grows=*/false);
    if (!arrival.ok() || *arrival != monitor::Arrival::kStep) break;
    Check(journal.step()->step > last);
    last = journal.step()->step;
    CheckStep(*journal.step());
    journal.Pass();
  }
  unlink(path->c_str());
  return 0;
}
