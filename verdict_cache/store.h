// Remembers between runs what a prover said of claims.
//
// A row is found by a hash and believed only if the whole content and the engine that computed it
// are equal byte by byte, and its checksum is right. So a damaged row, a collision, a row of
// another version or a file from elsewhere costs a computation and never gives a wrong answer.
//
// Nothing here is needed for a verdict: what cannot be opened, read or written becomes a warning.
#ifndef PLANPROOF_VERDICT_CACHE_STORE_H_
#define PLANPROOF_VERDICT_CACHE_STORE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verdict_cache/store_file.h"

namespace planproof::verdict_cache {

struct StoreOptions {
  std::string path;
  std::string engine;                     // identifies what computes the outcomes
  int64_t size_limit = int64_t{1} << 28;  // bytes of the file; beyond it the least recently used go
  Foreign foreign = Foreign::kReplace;
};

// One decided class, as a journal lists it for people; never read as a proof.
struct DecidedClass {
  int64_t number = 0;
  int64_t members = 0;
  bool proved = false;
  std::string stage;
  std::string reason;  // not proved: why
};

class Store {
 public:
  explicit Store(StoreOptions options) : options_(std::move(options)) {}
  ~Store() { Close(); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // For each content the outcome stored with it, or nothing. One transaction. Opens the file.
  std::vector<std::optional<std::string>> Find(const std::vector<std::string>& contents);
  // Remembers an outcome; it is written with those of the next 0.2 s.
  void Add(std::string content, std::string outcome);
  // Writes what waits if 0.2 s are over; to be called now and then.
  void FlushIfDue();
  // Writes what waits. Called by Close.
  void Flush();
  // Writes what waits, evicts what is too much, closes.
  void Close();

  // Notes and decided classes of a run, for a journal.
  void SetNote(std::string name, std::string value);
  void Decided(DecidedClass decided);
  std::string Note(const std::string& name);
  std::vector<DecidedClass> AllDecided();
  // Forgets everything: outcomes, notes, decided classes.
  void Clear();

  struct Statistics {
    int64_t rows = 0, rows_of_engine = 0, bytes = 0;
    int64_t oldest_day = 0;  // of last use, since 1970; 0: no rows
  };
  std::optional<Statistics> Describe();

  // False if the file cannot be opened, or became unusable; warnings() say why.
  bool Open();
  const std::string& path() const { return options_.path; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool Check(SqlOutcome outcome);
  void Evict();
  int64_t KeyOf(std::string_view content) const;
  std::string ChecksumOf(std::string_view content, std::string_view outcome) const;
  SqlOutcome WritePending();
  bool Waiting() const;

  StoreOptions options_;
  enum class State : uint8_t { kNotOpened, kOpen, kUnusable } state_ = State::kNotOpened;
  bool replaced_ = false;  // once in a run is enough
  OpenedStore opened_;
  std::vector<std::pair<std::string, std::string>> outcomes_;  // to be written
  std::vector<std::pair<std::string, std::string>> notes_;
  std::vector<DecidedClass> decided_;
  std::vector<int64_t> touched_, dropped_;  // rows used today for the first time; damaged rows
  bool added_ = false;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
  std::vector<std::string> warnings_;
};

}  // namespace planproof::verdict_cache

#endif  // PLANPROOF_VERDICT_CACHE_STORE_H_
