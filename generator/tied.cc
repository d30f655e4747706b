#include "generator/tied.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::generator {
namespace {

// Names of parameters that several stages hold with their values, by first use.
std::vector<std::pair<std::string, std::vector<Value>>> TiedParameters(const Trace& trace) {
  std::map<std::string, std::vector<Value>> holders;
  for (Value parameter : trace.parameters) {
    holders[trace.values[parameter].name].push_back(parameter);
  }
  std::vector<std::pair<std::string, std::vector<Value>>> tied;
  for (Value parameter : trace.parameters) {
    const std::string& name = trace.values[parameter].name;
    if (holders[name].size() > 1 && holders[name][0] == parameter) {
      tied.push_back({name, holders[name]});
    }
  }
  return tied;
}

}  // namespace

void MarkTiedParameters(Trace* trace) {
  for (const auto& [name, values] : TiedParameters(*trace)) {
    for (Value value : values) {
      ValueInfo& info = trace->values[value];
      info.gradient = absl::StrCat("grad.", name, ".stage");
      info.local = true;  // the logical graph has no gradient by stage
      info.counted_elsewhere = value != values[0];
    }
  }
}

void ReduceTiedGradients(Trace* trace, std::map<Value, LocalGradient>* gradients) {
  for (const auto& [name, values] : TiedParameters(*trace)) {
    const std::string whole = absl::StrCat("grad.", name);
    std::vector<std::string> parts;
    for (Value value : values) {
      LocalGradient& local = gradients->at(value);
      const int stage = trace->values[value].stage;
      const Axes ranks = Minus(local.partial, {"microbatch"});
      if (ranks.size() < local.partial.size()) {
        const std::string accumulated = absl::StrCat(whole, ".stage.accumulated");
        trace->Write(stage, "accumulate", {local.name}, accumulated)->mutable_collective();
        local = {accumulated, ranks};
      }
      parts.push_back(absl::StrCat(trace->StageName(stage), ":", local.name));
    }
    for (Value value : values) {
      LocalGradient& local = gradients->at(value);
      const ValueInfo& info = trace->values[value];
      local.name = local.partial.empty() ? whole : absl::StrCat(whole, ".local");
      trace->Write(info.stage, "all_reduce", parts, local.name)->mutable_collective();
      trace->WriteLineage(info.stage, local.name, whole, info.dims, local.partial);
    }
  }
}

}  // namespace planproof::generator
