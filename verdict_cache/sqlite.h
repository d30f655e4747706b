// Gives SQLite owners: a database that closes itself, statements that finalize themselves. Thin:
// calls return SQLite's result codes, so that who calls decides what a busy or a damaged file
// means.
#ifndef PLANPROOF_VERDICT_CACHE_SQLITE_H_
#define PLANPROOF_VERDICT_CACHE_SQLITE_H_

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace planproof::verdict_cache {

enum class SqlOutcome : uint8_t {
  kDone,
  kRow,      // Step: a row is there
  kBusy,     // another process holds the lock
  kDamaged,  // the file is no database, or not what its structure says
  kFailed,   // anything else: no space, no permission, an input/output error
};

class Database {
 public:
  Database() = default;
  ~Database() { Close(); }
  Database(Database&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Database& operator=(Database&& other) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens an existing file; it is first read by the first statement.
  SqlOutcome Open(const std::string& path);
  void Close();
  bool IsOpen() const { return handle_ != nullptr; }
  // Runs statements that give no rows (rows are dropped).
  SqlOutcome Execute(const std::string& sql);
  // The first column of the first row; kDone where there is none.
  SqlOutcome ReadInteger(const std::string& sql, int64_t* value);
  SqlOutcome ReadText(const std::string& sql, std::string* value);
  void SetBusyTimeout(int milliseconds);
  // What the last failure was, for messages.
  std::string Error() const;

 private:
  friend class Statement;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. Bytes must live until the next Reset.
  Statement& Bind(int parameter, int64_t value);
  Statement& BindBytes(int parameter, std::string_view bytes);
  Statement& BindText(int parameter, std::string_view text);
  // kDone or kRow, or what went wrong (also in preparation).
  SqlOutcome Step();
  void Reset();
  // Of the current row; columns count from 0. Bytes live until the next Step or Reset.
  int64_t Integer(int column) const;
  std::string_view Bytes(int column) const;
  std::string Text(int column) const;

 private:
  sqlite3_stmt* handle_ = nullptr;
  int prepared_;
};

}  // namespace planproof::verdict_cache

#endif  // PLANPROOF_VERDICT_CACHE_SQLITE_H_
