// Opens the database file of a store: created where it is missing, recognised, made anew where it
// is damaged or not ours.
//
// Processes agree through an flock on FILE.lock: whoever uses the file holds it shared, whoever
// creates or replaces the file holds it alone. A process that dies gives its lock back.
#ifndef PLANPROOF_VERDICT_CACHE_STORE_FILE_H_
#define PLANPROOF_VERDICT_CACHE_STORE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "verdict_cache/sqlite.h"

namespace planproof::verdict_cache {

// An flock that is given back with its owner.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Creates the file where it is missing; false if that fails.
  bool Open(const std::string& path);
  // Waits at most so long.
  bool Share(int milliseconds);
  bool TakeAlone(int milliseconds);
  void Release();

 private:
  bool Take(int operation, int milliseconds);
  int file_ = -1;
};

struct OpenedStore {
  Database database;
  FileLock lock;        // shared
  std::string warning;  // "FILE was damaged and was made anew"; empty: all is well
};

enum class Foreign : uint8_t {
  kReplace,  // a file that is damaged or not ours is moved aside (FILE.damaged) and made anew
  kRefuse,   // it is an error
};

// Creates directories (for the user alone), file and tables where they are missing. Errors:
// PermissionDenied (cannot be created, or others may write there), FailedPrecondition (not a store,
// with kRefuse), Unavailable (damaged, and another process uses it), each with the path.
absl::StatusOr<OpenedStore> OpenStoreFile(const std::string& path, Foreign foreign);

// Makes the file anew if no other process uses it; for damage that reading rows has shown.
absl::StatusOr<OpenedStore> ReplaceStoreFile(const std::string& path);

// Deletes the file and those beside it. Unavailable if another process uses it.
absl::Status DeleteStoreFile(const std::string& path);

}  // namespace planproof::verdict_cache

#endif  // PLANPROOF_VERDICT_CACHE_STORE_FILE_H_
