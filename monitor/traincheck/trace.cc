#include "monitor/traincheck/trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "monitor/learned/checker.h"
#include "monitor/traincheck/adapter.h"
#include "monitor/traincheck/lines.h"
#include "monitor/traincheck/record.h"

namespace planproof::monitor::traincheck {
namespace {

constexpr size_t kTraceFileLimit = 4096;
constexpr uintmax_t kSelectionSizeLimit = uintmax_t{16} << 20;

bool IsTraceFile(const std::string& name) {
  return absl::StartsWith(name, "trace_") || name == "proxy_log.json";
}

// Sorted, so that a trace is read in one order everywhere.
absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code of_file;
    if (!IsTraceFile(name) || !at->is_regular_file(of_file)) continue;
    files.push_back(at->path().string());
    if (files.size() > kTraceFileLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": has more than ", kTraceFileLimit, " files of a trace"));
    }
  }
  if (error)
    return absl::NotFoundError(absl::StrCat(directory, ": cannot be read: ", error.message()));
  if (files.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": has no file of a trace (trace_*, proxy_log.json)"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<int64_t> ReadFile(const std::string& file, Adapter* adapter) {
  Lines lines(file);
  std::string_view line;
  Record record;
  int64_t records = 0;
  while (lines.Next(&line)) {
    if (line.empty()) continue;
    if (!ReadRecord(line, &record)) {
      if (!lines.ended()) break;  // cut off while it was written
      return absl::InvalidArgumentError(absl::StrCat(
          file, ":", lines.number(),
          ": is no record of TrainCheck 0.1.2 or 0.2.0: remove the line, or record the run again"));
    }
    adapter->Take(record);
    ++records;
  }
  adapter->EndFile();
  if (!lines.status().ok()) return lines.status();
  return records;
}

absl::StatusOr<int64_t> ReadFiles(const std::string& directory, Adapter* adapter) {
  const absl::StatusOr<std::vector<std::string>> files = FilesOf(directory);
  if (!files.ok()) return files.status();
  int64_t records = 0;
  for (const std::string& file : *files) {
    const absl::StatusOr<int64_t> read = ReadFile(file, adapter);
    if (!read.ok()) return read.status();
    records += *read;
  }
  return records;
}

// Functions that a selective trace has; false: the trace has all.
bool ReadSelection(const std::string& directory, std::set<std::string>* functions) {
  const std::filesystem::path file = std::filesystem::path(directory) / "instr_opts.json";
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error || size > kSelectionSizeLimit) return false;
  std::ifstream stream(file);
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object() || !json.contains("funcs_instr_opts") ||
      !json["funcs_instr_opts"].is_object())
    return false;
  for (const auto& [name, options] : json["funcs_instr_opts"].items()) functions->insert(name);
  return true;
}

}  // namespace

bool IsTrace(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> files = FilesOf(directory);
  if (!files.ok()) return false;
  for (const std::string& file : *files) {
    Lines lines(file);
    std::string_view line;
    Record record;
    if (lines.Next(&line)) return ReadRecord(line, &record) && record.type != RecordType::kOther;
  }
  return false;
}

absl::StatusOr<learned::LearnedRun> LearnTrace(const std::string& directory) {
  learned::Symbols symbols;
  learned::Learner learner(&symbols);
  Adapter adapter(&symbols, &learner);
  const absl::StatusOr<int64_t> records = ReadFiles(directory, &adapter);
  if (!records.ok()) return records.status();
  if (*records == 0)
    return absl::InvalidArgumentError(absl::StrCat(directory, ": the trace has no record"));
  return learner.Result(learned::SourceKind::kTrace);
}

absl::StatusOr<CheckedTrace> CheckTrace(const std::string& directory,
                                        const learned::FactSet& facts) {
  learned::Symbols symbols;
  learned::Checker checker(facts, &symbols);
  std::set<std::string> selection;
  if (ReadSelection(directory, &selection)) checker.SetRecorded(std::move(selection));
  Adapter adapter(&symbols, &checker);
  const absl::StatusOr<int64_t> records = ReadFiles(directory, &adapter);
  if (!records.ok()) return records.status();
  CheckedTrace checked;
  checked.records = *records;
  checked.processes = static_cast<int>(adapter.processes().size());
  checked.same_program = checker.IsSameProgram();
  if (!checked.same_program) return checked;
  std::map<int64_t, int> ranks;
  for (const int64_t process : adapter.processes())
    ranks.emplace(process, static_cast<int>(ranks.size()));
  checker.Report(ranks, &checked.findings);
  checker.ReportUnobserved(&checked.findings);
  return checked;
}

}  // namespace planproof::monitor::traincheck
