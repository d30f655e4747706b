// Makes observations of TrainCheck's records.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_ADAPTER_H_
#define PLANPROOF_MONITOR_TRAINCHECK_ADAPTER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "monitor/learned/observations.h"
#include "monitor/traincheck/record.h"
#include "monitor/traincheck/roles.h"

namespace planproof::monitor::traincheck {

// Addresses, hashes, times and numbers of threads are never values: contents are compared, and the
// root of backward is followed to what returned it.
class Adapter {
 public:
  // Both must outlive the adapter.
  Adapter(learned::Symbols* symbols, learned::Observations* to) : symbols_(symbols), to_(to) {}
  void Take(const Record& record);
  // The file ends: its threads do.
  void EndFile();
  const std::set<int64_t>& processes() const { return processes_; }

 private:
  using Symbol = learned::Symbol;
  struct Function {
    Symbol symbol = learned::kNoSymbol;
    FunctionTraits traits;
  };
  struct Thread {
    int stream = 0;
    std::vector<uint64_t> calls;  // hashes of those that have not returned
  };
  struct Variable {
    uint64_t gradient = 0;
    bool has_gradient = false;
  };
  Thread& ThreadOf(const Record& record);
  const Function& FunctionOf(std::string_view name);
  Symbol StageOf(std::string_view stage);
  void TakeCall(const Record& record, Thread* thread);
  void TakeReturn(const Record& record, Thread* thread);
  void TakeState(const Record& record, Thread* thread);
  void TakeArguments(const JsonValue& arguments, const Function& function, Symbol stage,
                     int stream);
  void TakeArgument(const JsonValue& typed, const std::string& name, const Function& function,
                    Symbol stage, int stream);
  void TakeMembers(const JsonValue& members, const std::string& name, bool tensor, Symbol subject,
                   Symbol stage, int stream);
  void TakeScalar(const JsonValue& value, const std::string& name, Symbol subject, Symbol stage,
                  int stream);
  void TakeObjects(const JsonValue& objects, const Function& function, int stream);

  learned::Symbols* symbols_;
  learned::Observations* to_;
  std::map<std::pair<int64_t, int64_t>, Thread> threads_;
  absl::flat_hash_map<std::string_view, Function> functions_;            // by texts of `symbols_`
  absl::flat_hash_map<std::pair<int64_t, Symbol>, Variable> variables_;  // by process
  std::set<int64_t> processes_;
  std::string stage_text_;
  Symbol stage_ = learned::kNoSymbol;
  int next_stream_ = 0;
};

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_ADAPTER_H_
