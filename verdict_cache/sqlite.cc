#include "verdict_cache/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace planproof::verdict_cache {
namespace {

SqlOutcome Meaning(int code) {
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
      return SqlOutcome::kDone;
    case SQLITE_ROW:
      return SqlOutcome::kRow;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return SqlOutcome::kBusy;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // our statements do not fit the schema
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return SqlOutcome::kDamaged;
    default:
      return SqlOutcome::kFailed;
  }
}

}  // namespace

Database& Database::operator=(Database&& other) noexcept {
  if (this != &other) {
    Close();
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

SqlOutcome Database::Open(const std::string& path) {
  Close();
  const int code =
      sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return Meaning(code);
  sqlite3_extended_result_codes(handle_, 1);
  // Nothing in the file may run code of ours that the statements do not name.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return SqlOutcome::kDone;
}

void Database::Close() {
  if (handle_ != nullptr) sqlite3_close(std::exchange(handle_, nullptr));
}

SqlOutcome Database::Execute(const std::string& sql) {
  return Meaning(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

SqlOutcome Database::ReadInteger(const std::string& sql, int64_t* value) {
  Statement statement(*this, sql);
  const SqlOutcome outcome = statement.Step();
  if (outcome == SqlOutcome::kRow) *value = statement.Integer(0);
  return outcome;
}

SqlOutcome Database::ReadText(const std::string& sql, std::string* value) {
  Statement statement(*this, sql);
  const SqlOutcome outcome = statement.Step();
  if (outcome == SqlOutcome::kRow) *value = statement.Text(0);
  return outcome;
}

void Database::SetBusyTimeout(int milliseconds) { sqlite3_busy_timeout(handle_, milliseconds); }

std::string Database::Error() const {
  return handle_ == nullptr ? "cannot be opened" : sqlite3_errmsg(handle_);
}

Statement::Statement(Database& database, std::string_view sql)
    : prepared_(sqlite3_prepare_v2(database.handle_, sql.data(), static_cast<int>(sql.size()),
                                   &handle_, nullptr)) {}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::Bind(int parameter, int64_t value) {
  if (handle_ != nullptr) sqlite3_bind_int64(handle_, parameter, value);
  return *this;
}

Statement& Statement::BindBytes(int parameter, std::string_view bytes) {
  // A null pointer would bind NULL.
  if (handle_ != nullptr)
    sqlite3_bind_blob64(handle_, parameter, bytes.empty() ? "" : bytes.data(), bytes.size(),
                        SQLITE_STATIC);
  return *this;
}

Statement& Statement::BindText(int parameter, std::string_view text) {
  if (handle_ != nullptr)
    sqlite3_bind_text64(handle_, parameter, text.empty() ? "" : text.data(), text.size(),
                        SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqlOutcome Statement::Step() {
  if (prepared_ != SQLITE_OK || handle_ == nullptr) return Meaning(prepared_);
  return Meaning(sqlite3_step(handle_));
}

void Statement::Reset() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
}

int64_t Statement::Integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string_view Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

std::string Statement::Text(int column) const { return std::string(Bytes(column)); }

}  // namespace planproof::verdict_cache
