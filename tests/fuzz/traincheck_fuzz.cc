// Whatever the lines of a trace hold: records or none, and facts that are written as they were
// read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monitor/learned/checker.h"
#include "monitor/learned/combine.h"
#include "monitor/learned/facts_file.h"
#include "monitor/traincheck/adapter.h"

namespace {

void TakeLines(std::string_view text, planproof::monitor::traincheck::Adapter* adapter) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    planproof::monitor::traincheck::Record record;
    if (planproof::monitor::traincheck::ReadRecord(text.substr(0, end), &record))
      adapter->Take(record);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  adapter->EndFile();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace learned = planproof::monitor::learned;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  learned::Symbols symbols;
  learned::Learner learner(&symbols);
  planproof::monitor::traincheck::Adapter to_learn(&symbols, &learner);
  TakeLines(text, &to_learn);
  const auto facts = learned::Combine({learner.Result(learned::SourceKind::kTrace)});
  if (!facts.ok()) std::abort();
  const std::string written = learned::WriteFacts(*facts);
  const auto again = learned::ParseFacts("facts", written);
  if (again.ok() && again->facts.size() != facts->facts.size()) std::abort();
  // A run contradicts nothing that was learned from it alone.
  learned::Checker checker(*facts, &symbols);
  planproof::monitor::traincheck::Adapter to_check(&symbols, &checker);
  TakeLines(text, &to_check);
  planproof::monitor::Findings findings;
  checker.Report({}, &findings);
  if (!findings.alarms.empty()) std::abort();
  return 0;
}
