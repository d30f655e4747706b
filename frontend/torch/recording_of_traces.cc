#include "frontend/torch/recording_of_traces.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace planproof::frontend::torch {
namespace {

// "rank0.values.npz" of "rank0.trace".
std::string ValuesPathOf(const std::string& trace) {
  return absl::StrCat(absl::StripSuffix(trace, ".trace"), ".values.npz");
}

bool HasValues(const Trace& trace) {
  std::error_code ignored;
  return trace.given && std::filesystem::exists(ValuesPathOf(trace.path), ignored);
}

RecordedProgram ProgramOf(const Trace& trace, int32_t rank, bool with_operators) {
  RecordedProgram program;
  program.path = trace.path;
  program.values_path = ValuesPathOf(trace.path);
  program.rank = rank;
  program.given = trace.given;
  program.version = trace.version;
  program.values_digest = trace.values;
  for (const Storage& storage : trace.storages) {
    program.storages.push_back({storage.dtype, storage.size});
  }
  for (const Input& input : trace.inputs) {
    const Tensor& tensor = trace.tensors[input.tensor];
    RecordedInput& recorded = program.inputs.emplace_back();
    recorded.role = static_cast<RecordedRole>(input.role);
    recorded.name = input.name;
    recorded.named_by_reader = !input.recorded;
    recorded.view = {tensor.storage, tensor.dtype, tensor.offset, tensor.shape, tensor.strides};
  }
  for (const TraceResult& result : trace.results) {
    const Tensor& tensor = trace.tensors[result.tensor];
    RecordedResult& recorded = program.results.emplace_back();
    recorded.kind = static_cast<RecordedResult::Kind>(result.kind);
    recorded.name = result.name;
    recorded.what = NameOf(result.kind, result.name);
    recorded.dtype = tensor.dtype;
    recorded.shape = tensor.shape;
    recorded.has_values = result.recorded;
  }
  if (!with_operators) return program;
  for (const Executed& executed : trace.operators) {
    program.operators.push_back({executed.op, executed.source});
  }
  return program;
}

}  // namespace

Recording RecordingOfTraces(const Trace& reference, const std::vector<Trace>& ranks) {
  Recording recording;
  recording.has_values = HasValues(reference) && std::all_of(ranks.begin(), ranks.end(), HasValues);
  recording.reference = ProgramOf(reference, -1, recording.has_values);
  for (const Trace& trace : ranks) {
    recording.ranks.push_back(ProgramOf(trace, trace.rank, recording.has_values));
  }
  return recording;
}

void AddExecution(const Execution& execution, const GraphWriter& writer, const Memory& memory,
                  RecordedProgram* program) {
  for (const Memory::Unwritten& unwritten : memory.unwritten()) {
    program->unwritten.push_back({unwritten.tensor, unwritten.storage, unwritten.begin, {}});
  }
  program->choices = execution.recorded();
  program->items = execution.numbers();
  program->calls = writer.calls();
  program->made = execution.made();
  program->in_place = execution.in_place();
}

}  // namespace planproof::frontend::torch
