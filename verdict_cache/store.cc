#include "verdict_cache/store.h"

#include "absl/strings/str_cat.h"
#include "verdict_cache/fingerprint.h"

namespace planproof::verdict_cache {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBatch(200);
// Waiting for another process holds up the workers, so that a batch rather waits for the next one.
constexpr int kBatchWaitMilliseconds = 20;
constexpr int kLastAttempts = 100;

int64_t Today() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::hours>(system_clock::now().time_since_epoch())
             .count() /
         24;
}

}  // namespace

bool Store::Open() {
  if (state_ == State::kNotOpened) {
    absl::StatusOr<OpenedStore> opened = OpenStoreFile(options_.path, options_.foreign);
    if (opened.ok()) {
      opened_ = *std::move(opened);
      state_ = State::kOpen;
      if (!opened_.warning.empty()) warnings_.push_back(opened_.warning);
    } else {
      state_ = State::kUnusable;
      warnings_.push_back(std::string(opened.status().message()));
    }
  }
  return state_ == State::kOpen;
}

// True when the store can go on after this outcome. A damaged file is made anew, once.
bool Store::Check(SqlOutcome outcome) {
  if (outcome == SqlOutcome::kDone || outcome == SqlOutcome::kRow) return true;
  if (outcome == SqlOutcome::kBusy) return false;
  const std::string why = opened_.database.Error();
  opened_ = OpenedStore();
  state_ = State::kUnusable;
  if (outcome == SqlOutcome::kDamaged && !replaced_ && options_.foreign == Foreign::kReplace) {
    replaced_ = true;
    absl::StatusOr<OpenedStore> opened = ReplaceStoreFile(options_.path);
    if (opened.ok()) {
      opened_ = *std::move(opened);
      state_ = State::kOpen;
      warnings_.push_back(
          absl::StrCat(options_.path, " was damaged (", why, ") and was made anew"));
      return false;
    }
    warnings_.push_back(std::string(opened.status().message()));
    return false;
  }
  warnings_.push_back(absl::StrCat(options_.path, ": ", why));
  return false;
}

int64_t Store::KeyOf(std::string_view content) const {
  return static_cast<int64_t>(FingerprintOf({options_.engine, content}).low);
}

std::string Store::ChecksumOf(std::string_view content, std::string_view outcome) const {
  return FingerprintOf({options_.engine, content, outcome}).Bytes();
}

std::vector<std::optional<std::string>> Store::Find(const std::vector<std::string>& contents) {
  std::vector<std::optional<std::string>> found(contents.size());
  if (contents.empty() || !Open()) return found;
  Database& database = opened_.database;
  SqlOutcome outcome = database.Execute("BEGIN");
  if (outcome == SqlOutcome::kDone) {
    Statement select(database,
                     "SELECT used, engine, checksum, outcome, content FROM verdict WHERE key=?");
    const int64_t today = Today();
    for (size_t i = 0; i < contents.size() && outcome != SqlOutcome::kDamaged; ++i) {
      const int64_t key = KeyOf(contents[i]);
      outcome = select.Bind(1, key).Step();
      if (outcome == SqlOutcome::kRow) {
        const bool same = select.Bytes(1) == options_.engine && select.Bytes(4) == contents[i];
        if (same && select.Bytes(2) == ChecksumOf(contents[i], select.Bytes(3))) {
          found[i] = std::string(select.Bytes(3));
          if (select.Integer(0) != today) touched_.push_back(key);
        } else {
          dropped_.push_back(key);  // damaged; or a collision, where the later one stays
        }
      } else if (outcome != SqlOutcome::kDone) {
        break;
      }
      select.Reset();
    }
  }
  bool good = Check(outcome);  // once: a damaged file has been made anew then
  if (good) good = Check(database.Execute("COMMIT"));
  if (!good) {
    if (state_ == State::kOpen) database.Execute("ROLLBACK");
    touched_.clear();
    dropped_.clear();
    found.assign(contents.size(), std::nullopt);
  }
  return found;
}

void Store::Add(std::string content, std::string outcome) {
  outcomes_.emplace_back(std::move(content), std::move(outcome));
  FlushIfDue();
}

void Store::Decided(DecidedClass decided) {
  decided_.push_back(std::move(decided));
  FlushIfDue();
}

void Store::FlushIfDue() {
  if (Clock::now() - flushed_ >= kBatch) Flush();
}

void Store::SetNote(std::string name, std::string value) {
  notes_.emplace_back(std::move(name), std::move(value));
  Flush();
}

bool Store::Waiting() const {
  return !outcomes_.empty() || !notes_.empty() || !decided_.empty() || !touched_.empty() ||
         !dropped_.empty();
}

void Store::Flush() {
  if (!Waiting()) return;
  flushed_ = Clock::now();
  if (!Open()) return;
  opened_.database.SetBusyTimeout(kBatchWaitMilliseconds);
  const SqlOutcome outcome = WritePending();
  if (outcome == SqlOutcome::kBusy) return;  // with the next batch
  if (!Check(outcome) && state_ == State::kOpen) {
    touched_.clear();  // they were rows of the damaged file
    dropped_.clear();
    if (!Check(WritePending())) return;
  }
  added_ |= !outcomes_.empty();
  outcomes_.clear();
  notes_.clear();
  decided_.clear();
  touched_.clear();
  dropped_.clear();
}

SqlOutcome Store::WritePending() {
  Database& database = opened_.database;
  SqlOutcome outcome = database.Execute("BEGIN IMMEDIATE");
  if (outcome != SqlOutcome::kDone) return outcome;
  {
    Statement insert(
        database,
        "INSERT OR REPLACE INTO verdict(key, used, engine, checksum, outcome, content) "
        "VALUES(?,?,?,?,?,?)");
    Statement touch(database, "UPDATE verdict SET used=? WHERE key=?");
    Statement drop(database, "DELETE FROM verdict WHERE key=?");
    Statement note(database, "INSERT OR REPLACE INTO note(name, value) VALUES(?,?)");
    Statement decide(database,
                     "INSERT OR REPLACE INTO decided(number, members, proved, stage, reason) "
                     "VALUES(?,?,?,?,?)");
    const auto run = [&outcome](Statement& statement) {
      if (outcome == SqlOutcome::kDone) outcome = statement.Step();
      statement.Reset();
    };
    const int64_t today = Today();
    for (const int64_t key : dropped_) run(drop.Bind(1, key));
    for (const int64_t key : touched_) run(touch.Bind(1, today).Bind(2, key));
    for (const auto& [content, result] : outcomes_) {
      const std::string checksum = ChecksumOf(content, result);
      run(insert.Bind(1, KeyOf(content))
              .Bind(2, today)
              .BindBytes(3, options_.engine)
              .BindBytes(4, checksum)
              .BindBytes(5, result)
              .BindBytes(6, content));
    }
    for (const auto& [name, value] : notes_) run(note.BindText(1, name).BindText(2, value));
    for (const DecidedClass& d : decided_) {
      run(decide.Bind(1, d.number)
              .Bind(2, d.members)
              .Bind(3, d.proved ? 1 : 0)
              .BindText(4, d.stage)
              .BindText(5, d.reason));
    }
  }
  if (outcome == SqlOutcome::kDone) outcome = database.Execute("COMMIT");
  if (outcome != SqlOutcome::kDone) database.Execute("ROLLBACK");
  return outcome;
}

void Store::Evict() {
  Database& database = opened_.database;
  int64_t pages = 0, unused = 0, page = 0;
  if (database.ReadInteger("PRAGMA page_count", &pages) != SqlOutcome::kRow ||
      database.ReadInteger("PRAGMA freelist_count", &unused) != SqlOutcome::kRow ||
      database.ReadInteger("PRAGMA page_size", &page) != SqlOutcome::kRow ||
      (pages - unused) * page <= options_.size_limit) {
    return;
  }
  // Down to three quarters of what is allowed, by the average size of a row.
  const int64_t bytes = (pages - unused) * page;
  const double share = 1 - 0.75 * static_cast<double>(options_.size_limit) / bytes;
  int64_t rows = 0;
  if (database.ReadInteger("SELECT count(*) FROM verdict", &rows) != SqlOutcome::kRow) return;
  const auto gone = static_cast<int64_t>(static_cast<double>(rows) * share) + 1;
  Check(database.Execute(
      absl::StrCat("BEGIN IMMEDIATE; DELETE FROM verdict WHERE key IN (SELECT key FROM verdict "
                   "ORDER BY used, key LIMIT ",
                   gone, "); COMMIT; PRAGMA incremental_vacuum")));
}

void Store::Close() {
  for (int attempt = 0; attempt < kLastAttempts && Waiting() && state_ != State::kUnusable;
       ++attempt) {
    Flush();  // each waits a little for other processes
  }
  if (state_ == State::kOpen && Waiting())
    warnings_.push_back(absl::StrCat(path(), ": another process holds it; nothing was stored"));
  if (state_ == State::kOpen && added_) Evict();
  opened_ = OpenedStore();
  if (state_ == State::kOpen) state_ = State::kNotOpened;
}

std::string Store::Note(const std::string& name) {
  std::string value;
  if (!Open()) return value;
  Statement select(opened_.database, "SELECT value FROM note WHERE name=?");
  if (select.BindText(1, name).Step() == SqlOutcome::kRow) value = select.Text(0);
  return value;
}

std::vector<DecidedClass> Store::AllDecided() {
  std::vector<DecidedClass> all;
  if (!Open()) return all;
  Statement select(opened_.database,
                   "SELECT number, members, proved, stage, reason FROM decided ORDER BY number");
  while (select.Step() == SqlOutcome::kRow) {
    all.push_back({select.Integer(0), select.Integer(1), select.Integer(2) != 0, select.Text(3),
                   select.Text(4)});
  }
  return all;
}

void Store::Clear() {
  outcomes_.clear();
  notes_.clear();
  decided_.clear();
  if (!Open()) return;
  Check(opened_.database.Execute(
      "BEGIN IMMEDIATE; DELETE FROM verdict; DELETE FROM note; DELETE FROM decided; COMMIT; PRAGMA "
      "incremental_vacuum"));
}

std::optional<Store::Statistics> Store::Describe() {
  if (!Open()) return std::nullopt;
  Database& database = opened_.database;
  Statistics s;
  int64_t pages = 0, page = 0;
  Statement select(database, "SELECT count(*), coalesce(min(used), 0) FROM verdict");
  Statement own(database, "SELECT count(*) FROM verdict WHERE engine=?");
  if (!Check(database.ReadInteger("PRAGMA page_count", &pages)) ||
      !Check(database.ReadInteger("PRAGMA page_size", &page)) || !Check(select.Step()) ||
      !Check(own.BindBytes(1, options_.engine).Step())) {
    return std::nullopt;
  }
  s.rows = select.Integer(0);
  s.oldest_day = select.Integer(1);
  s.rows_of_engine = own.Integer(0);
  s.bytes = pages * page;
  return s;
}

}  // namespace planproof::verdict_cache
