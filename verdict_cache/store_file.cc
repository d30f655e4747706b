#include "verdict_cache/store_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::verdict_cache {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// "PPVC", and the version of the tables below: another version is another file.
constexpr int64_t kApplicationId = 0x50505643;
constexpr int64_t kSchemaVersion = 1;
constexpr std::array<const char*, 3> kTables = {
    // Small columns first: they lie on the page itself, also where the content does not fit.
    "CREATE TABLE verdict(key INTEGER PRIMARY KEY, used INTEGER NOT NULL, engine BLOB NOT NULL, "
    "checksum BLOB NOT NULL, outcome BLOB NOT NULL, content BLOB NOT NULL)",
    "CREATE TABLE note(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE decided(number INTEGER PRIMARY KEY, members INTEGER NOT NULL, proved INTEGER NOT "
    "NULL, stage TEXT NOT NULL, reason TEXT NOT NULL)",
};
constexpr int kBusyMilliseconds = 2000;
constexpr int kAttempts = 40;
constexpr milliseconds kPause(25);

enum class State : uint8_t { kGood, kMissing, kDamaged, kBusy, kFailed };

// Write-ahead logs need memory that all processes share, which file systems of a network lack.
bool OnNetworkFileSystem(const std::string& path) {
  struct statfs about {};
  if (statfs(path.c_str(), &about) != 0) return false;
  constexpr std::array<uint32_t, 9> kNetwork = {
      0x6969 /* NFS */,        0x517b /* SMB */,        0xff534d42 /* CIFS */,
      0xfe534d42 /* SMB2 */,   0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,
      0x19830326 /* BeeGFS */, 0x00c36400 /* Ceph */,   0x65735546 /* FUSE */};
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<uint32_t>(about.f_type)) !=
         kNetwork.end();
}

SqlOutcome Configure(Database& database, const std::string& path) {
  database.SetBusyTimeout(kBusyMilliseconds);
  // What is lost with the power is a cache; what is torn by it shows in checksums.
  const char* mode = OnNetworkFileSystem(path) ? "TRUNCATE" : "WAL";
  return database.Execute(absl::StrCat(
      "PRAGMA synchronous=OFF; PRAGMA cell_size_check=ON; PRAGMA journal_mode=", mode));
}

State Inspect(const std::string& path, Database* database) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return errno == ENOENT ? State::kMissing : State::kFailed;
  if (!S_ISREG(about.st_mode)) return State::kFailed;
  if (about.st_size == 0) return State::kMissing;
  const auto state_of = [](SqlOutcome outcome) {
    return outcome == SqlOutcome::kDamaged ? State::kDamaged
           : outcome == SqlOutcome::kBusy  ? State::kBusy
                                           : State::kFailed;
  };
  if (SqlOutcome o = database->Open(path); o != SqlOutcome::kDone) return state_of(o);
  database->SetBusyTimeout(kBusyMilliseconds);
  int64_t number = 0;
  for (const auto& [pragma, wanted] : {std::pair("PRAGMA application_id", kApplicationId),
                                       std::pair("PRAGMA user_version", kSchemaVersion)}) {
    if (SqlOutcome o = database->ReadInteger(pragma, &number); o != SqlOutcome::kRow)
      return o == SqlOutcome::kDone ? State::kDamaged : state_of(o);
    if (number != wanted) return State::kDamaged;
  }
  std::string schema;
  if (SqlOutcome o =
          database->ReadText("SELECT group_concat(sql, ';') FROM sqlite_schema", &schema);
      o != SqlOutcome::kRow) {
    return o == SqlOutcome::kDone ? State::kDamaged : state_of(o);
  }
  if (schema != absl::StrCat(kTables[0], ";", kTables[1], ";", kTables[2])) return State::kDamaged;
  const SqlOutcome configured = Configure(*database, path);
  return configured == SqlOutcome::kDone ? State::kGood : state_of(configured);
}

absl::Status Create(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  close(file);
  Database database;
  bool created = database.Open(path) == SqlOutcome::kDone;
  // Pages that become free can be given back; must precede the first table.
  created = created &&
            database.Execute("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL") ==
                SqlOutcome::kDone &&
            Configure(database, path) == SqlOutcome::kDone &&
            database.Execute(absl::StrCat("BEGIN IMMEDIATE; PRAGMA application_id=", kApplicationId,
                                          "; PRAGMA user_version=", kSchemaVersion, "; ",
                                          kTables[0], "; ", kTables[1], "; ", kTables[2],
                                          "; COMMIT")) == SqlOutcome::kDone;
  if (created) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(path, ": ", database.Error()));
}

void RemoveBeside(const std::string& path) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    fs::remove(path + suffix, ignored);
  }
}

// Whoever may write here can write a proof: that should be this user (or the administrator).
absl::Status CheckOwner(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return absl::OkStatus();
  if ((about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0)
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": everyone may write there, so what it says is no proof"));
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": belongs to another user, so what it says is no proof"));
  return absl::OkStatus();
}

absl::Status PrepareDirectory(const fs::path& directory) {
  if (directory.empty()) return absl::OkStatus();
  std::error_code error;
  if (!fs::exists(directory, error)) {
    fs::create_directories(directory.parent_path(), error);
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
      return absl::PermissionDeniedError(
          absl::StrCat(directory.string(), ": ", std::strerror(errno)));
  }
  return CheckOwner(directory.string());
}

// `distrusted`: the file is to be replaced although it looks good from outside.
absl::StatusOr<OpenedStore> OpenOrReplace(const std::string& path, Foreign foreign,
                                          bool distrusted) {
  if (absl::Status s = PrepareDirectory(fs::path(path).parent_path()); !s.ok()) return s;
  OpenedStore opened;
  if (!opened.lock.Open(path + ".lock"))
    return absl::PermissionDeniedError(absl::StrCat(path, ".lock: ", std::strerror(errno)));
  State state = State::kFailed;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (!opened.lock.Share(kBusyMilliseconds)) break;
    state = Inspect(path, &opened.database);
    if (absl::Status s = CheckOwner(path); !s.ok()) return s;
    if (state == State::kGood && !distrusted) return opened;
    std::string why = opened.database.Error();
    opened.database.Close();
    if (state == State::kFailed) return absl::PermissionDeniedError(absl::StrCat(path, ": ", why));
    if (state == State::kDamaged && foreign == Foreign::kRefuse)
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": is damaged or no file of planproof; it is left as it is"));
    opened.lock.Release();
    if (state != State::kBusy && opened.lock.TakeAlone(0)) {
      state = Inspect(path, &opened.database);  // another process may have been faster
      opened.database.Close();
      if (state == State::kDamaged || (distrusted && state == State::kGood)) {
        std::error_code error;
        fs::rename(path, path + ".damaged", error);
        if (error) return absl::PermissionDeniedError(absl::StrCat(path, ": ", error.message()));
        opened.warning = absl::StrCat(path, " was damaged and was made anew");
        state = State::kMissing;
      }
      if (state == State::kMissing) {
        RemoveBeside(path);
        if (absl::Status s = Create(path); !s.ok()) return s;
      }
      distrusted = false;
      continue;
    }
    std::this_thread::sleep_for(kPause);
  }
  return absl::UnavailableError(absl::StrCat(path, state == State::kDamaged || distrusted
                                                       ? ": is damaged, and another process uses it"
                                                       : ": another process holds it"));
}

}  // namespace

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    if (file_ >= 0) close(file_);
    file_ = std::exchange(other.file_, -1);
  }
  return *this;
}

bool FileLock::Open(const std::string& path) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return file_ >= 0;
}

bool FileLock::Take(int operation, int milliseconds_left) {
  while (flock(file_, operation | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || milliseconds_left <= 0) return false;
    milliseconds_left -= static_cast<int>(kPause.count());
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

bool FileLock::Share(int milliseconds) { return Take(LOCK_SH, milliseconds); }
bool FileLock::TakeAlone(int milliseconds) { return Take(LOCK_EX, milliseconds); }
void FileLock::Release() { flock(file_, LOCK_UN); }

absl::StatusOr<OpenedStore> OpenStoreFile(const std::string& path, Foreign foreign) {
  return OpenOrReplace(path, foreign, /*distrusted=*/false);
}

absl::StatusOr<OpenedStore> ReplaceStoreFile(const std::string& path) {
  return OpenOrReplace(path, Foreign::kReplace, /*distrusted=*/true);
}

absl::Status DeleteStoreFile(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::OkStatus();
  FileLock lock;
  if (!lock.Open(path + ".lock"))
    return absl::PermissionDeniedError(absl::StrCat(path, ".lock: ", std::strerror(errno)));
  if (!lock.TakeAlone(kBusyMilliseconds))
    return absl::UnavailableError(absl::StrCat(path, ": another process uses it"));
  fs::remove(path, error);
  if (error) return absl::PermissionDeniedError(absl::StrCat(path, ": ", error.message()));
  RemoveBeside(path);
  fs::remove(path + ".damaged", error);
  return absl::OkStatus();
}

}  // namespace planproof::verdict_cache
