// A store gives back what was stored under the same content by the same engine, or nothing:
// whatever happens to its file.
#include "verdict_cache/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

namespace planproof::verdict_cache {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  StoreTest() : directory_(testing::TempDir() + "store_test_" + std::to_string(getpid())) {
    fs::remove_all(directory_);
    path_ = directory_ + "/verdicts.sqlite";
  }
  ~StoreTest() override { fs::remove_all(directory_); }

  StoreOptions Options(const std::string& engine = "engine 1") const {
    StoreOptions options;
    options.path = path_;
    options.engine = engine;
    return options;
  }

  static std::string Content(int i) {
    return "content " + std::to_string(i) + std::string(static_cast<size_t>(i % 7) * 300, 'c');
  }
  static std::string Outcome(int i) { return "outcome of " + std::to_string(i * 17); }

  void Fill(int rows) {
    Store store(Options());
    for (int i = 0; i < rows; ++i) store.Add(Content(i), Outcome(i));
  }
  static std::vector<std::string> Contents(int rows) {
    std::vector<std::string> contents;
    for (int i = 0; i < rows; ++i) contents.push_back(Content(i));
    return contents;
  }
  // How many rows are found; each of them must be right.
  int Found(int rows, Store* store) {
    const auto found = store->Find(Contents(rows));
    int count = 0;
    for (int i = 0; i < rows; ++i) {
      if (!found[static_cast<size_t>(i)]) continue;
      ++count;
      EXPECT_EQ(*found[static_cast<size_t>(i)], Outcome(i));
    }
    return count;
  }
  int Found(int rows) {
    Store store(Options());
    return Found(rows, &store);
  }

  std::string Bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    std::stringstream bytes;
    bytes << stream.rdbuf();
    return bytes.str();
  }
  void SetBytes(const std::string& bytes) const {
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(path_ + suffix);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  std::string directory_, path_;
};

TEST_F(StoreTest, OutcomesAreFoundAgain) {
  Fill(100);
  Store store(Options());
  EXPECT_EQ(Found(100, &store), 100);
  EXPECT_FALSE(store.Find({"content 1"})[0] && store.Find({"other"})[0]);
  EXPECT_TRUE(store.warnings().empty());
  EXPECT_EQ(store.Describe()->rows, 100);
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(StoreTest, AnotherEngineFindsNothing) {
  Fill(10);
  Store other(Options("engine 2"));
  EXPECT_EQ(Found(10, &other), 0);
  EXPECT_EQ(other.Describe()->rows_of_engine, 0);
  EXPECT_EQ(Found(10), 10);  // and both live in one file
}

// A row that lies where the hash points but holds another content, engine, or outcome.
TEST_F(StoreTest, RowsThatWereExchangedAreNotBelieved) {
  for (const char* change : {
           "UPDATE verdict SET content=(SELECT content FROM verdict ORDER BY key DESC LIMIT 1)",
           "UPDATE verdict SET outcome=(SELECT outcome FROM verdict ORDER BY key DESC LIMIT 1)",
           "UPDATE verdict SET outcome=outcome || 'x'",
           "UPDATE verdict SET checksum=zeroblob(16)",
           "UPDATE verdict SET engine='engine 2'",
           "UPDATE verdict SET outcome='', checksum='', content='', engine=''",
       }) {
    fs::remove_all(directory_);
    Fill(20);
    {
      absl::StatusOr<OpenedStore> opened = OpenStoreFile(path_, Foreign::kRefuse);
      ASSERT_TRUE(opened.ok());
      ASSERT_EQ(opened->database.Execute(change), SqlOutcome::kDone) << change;
    }
    EXPECT_LE(Found(20), 1) << change;  // the row that was copied is itself right
    // The damaged rows are gone, and can be stored again.
    Fill(20);
    EXPECT_EQ(Found(20), 20) << change;
  }
}

TEST_F(StoreTest, BitFlipsNeverGiveAWrongOutcome) {
  constexpr int kRows = 150;
  Fill(kRows);
  const std::string good = Bytes();
  ASSERT_GT(good.size(), 50'000u);
  std::mt19937 random(7);
  int lost = 0;
  for (int trial = 0; trial < 120; ++trial) {
    std::string bad = good;
    // Headers and the first page are the most telling places.
    const size_t end = trial % 3 == 0 ? 200 : trial % 3 == 1 ? 8192 : good.size();
    for (int flips = 0; flips < (trial % 2 == 0 ? 1 : 10); ++flips)
      bad[random() % end] ^= static_cast<char>(1 << (random() % 8));
    SetBytes(bad);
    lost += kRows - Found(kRows);
    // And whatever it was, the file works again.
    Fill(kRows);
    EXPECT_EQ(Found(kRows), kRows) << "trial " << trial;
  }
  EXPECT_GT(lost, 0);
}

// Damage that shows only when rows are looked up.
TEST_F(StoreTest, AFileThatIsMadeAnewIsFilledByTheSameRun) {
  constexpr int kRows = 150;
  constexpr size_t kPage = 4096;
  Fill(kRows);
  std::string bad = Bytes();
  ASSERT_GT(bad.size(), 10 * kPage);
  for (size_t at = 6 * kPage; at < bad.size(); at += kPage) bad[at] = '\x7f';  // no kind of page
  SetBytes(bad);
  {
    Store store(Options());
    EXPECT_LT(Found(kRows, &store), kRows);
    ASSERT_EQ(store.warnings().size(), 1u);
    EXPECT_NE(store.warnings()[0].find("made anew"), std::string::npos) << store.warnings()[0];
    for (int i = 0; i < kRows; ++i) store.Add(Content(i), Outcome(i));
    store.Close();
    EXPECT_EQ(store.warnings().size(), 1u);
  }
  EXPECT_EQ(Found(kRows), kRows);
}

TEST_F(StoreTest, TruncatedFilesNeverGiveAWrongOutcome) {
  constexpr int kRows = 150;
  Fill(kRows);
  const std::string good = Bytes();
  for (size_t tenth = 0; tenth <= 10; ++tenth) {
    SetBytes(good.substr(0, good.size() * tenth / 10 + (tenth % 2) * 13));
    Found(kRows);
    Fill(kRows);
    EXPECT_EQ(Found(kRows), kRows) << tenth;
  }
}

TEST_F(StoreTest, AForeignFileIsMovedAsideOrLeftAlone) {
  fs::create_directories(directory_);
  const auto text = [&] { std::ofstream(path_) << "dear diary, this is no database at all\n"; };
  const auto database = [&] {
    fs::remove(path_);
    std::ofstream(path_).close();
    Database other;
    ASSERT_EQ(other.Open(path_), SqlOutcome::kDone);
    ASSERT_EQ(other.Execute("CREATE TABLE verdict(x); INSERT INTO verdict VALUES(1)"),
              SqlOutcome::kDone);
  };
  for (int kind = 0; kind < 2; ++kind) {
    kind == 0 ? text() : database();
    StoreOptions careful = Options();
    careful.foreign = Foreign::kRefuse;
    const std::string before = Bytes();
    Store refused(careful);
    EXPECT_EQ(Found(1, &refused), 0);
    refused.Add(Content(0), Outcome(0));
    refused.Close();
    EXPECT_EQ(refused.warnings().size(), 1u);
    EXPECT_EQ(Bytes(), before);
    Store replaced(Options());
    EXPECT_EQ(Found(1, &replaced), 0);
    EXPECT_EQ(replaced.warnings().size(), 1u);
    replaced.Add(Content(0), Outcome(0));
    replaced.Close();
    EXPECT_EQ(Found(1), 1);
    EXPECT_TRUE(fs::exists(path_ + ".damaged"));
  }
}

TEST_F(StoreTest, WhatCannotBeOpenedIsAWarning) {
  StoreOptions options = Options();
  options.path = "/dev/null/verdicts.sqlite";
  Store store(options);
  EXPECT_EQ(Found(3, &store), 0);
  store.Add(Content(0), Outcome(0));
  store.Close();
  EXPECT_EQ(store.warnings().size(), 1u);
}

TEST_F(StoreTest, AFileThatEveryoneMayWriteIsNotBelieved) {
  Fill(5);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  EXPECT_EQ(Found(5), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(Found(5), 5);
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(Found(5), 0);
}

TEST_F(StoreTest, AFileOfAnotherUserIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Fill(5);
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(Found(5), 0);
  ASSERT_EQ(chown(path_.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(directory_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(Found(5), 0);
  ASSERT_EQ(chown(directory_.c_str(), 0, 0), 0);
  EXPECT_EQ(Found(5), 5);
}

TEST_F(StoreTest, ProcessesShareAFile) {
  constexpr int kProcesses = 4, kRows = 60;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      Store store(Options());
      for (int i = 0; i < kRows; ++i) {
        store.Add(Content(process * kRows + i), Outcome(process * kRows + i));
        if (i % 10 == 0) {
          store.Find(Contents(kProcesses * kRows));
          store.Flush();
        }
      }
      store.Close();
      _exit(store.warnings().empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Found(kProcesses * kRows), kProcesses * kRows);
}

// Nothing but what came in the last fifth of a second is lost with the process.
TEST_F(StoreTest, AKilledProcessLeavesWhatItHadDecided) {
  for (int trial = 0; trial < 4; ++trial) {
    fs::remove_all(directory_);
    const pid_t child = fork();
    if (child == 0) {
      Store store(Options());
      for (int i = 0; i < 1000; ++i) {
        store.Add(Content(i), Outcome(i));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      _exit(0);
    }
    usleep(static_cast<useconds_t>(450'000 + 110'000 * trial));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const int found = Found(1000);
    EXPECT_GT(found, 20) << trial;
  }
}

TEST_F(StoreTest, TheLeastRecentlyUsedGoWhenThereIsTooMuch) {
  StoreOptions options = Options();
  options.size_limit = 200'000;
  {
    Store store(options);
    for (int i = 0; i < 100; ++i)
      store.Add("old " + std::to_string(i) + std::string(900, 'x'), "o");
    store.Close();
    absl::StatusOr<OpenedStore> opened = OpenStoreFile(path_, Foreign::kRefuse);
    ASSERT_TRUE(opened.ok());
    ASSERT_EQ(opened->database.Execute("UPDATE verdict SET used=used-10"), SqlOutcome::kDone);
  }
  const std::string used_again = "old 5" + std::string(900, 'x');
  Store store(options);
  EXPECT_TRUE(store.Find({used_again})[0]);
  for (int i = 0; i < 60; ++i) store.Add("new " + std::to_string(i) + std::string(900, 'x'), "n");
  store.Close();
  EXPECT_LE(fs::file_size(path_), 210'000u);
  int old_rows = 0, new_rows = 0;
  for (int i = 0; i < 120; ++i) {
    old_rows += store.Find({"old " + std::to_string(i) + std::string(900, 'x')})[0].has_value();
    new_rows += store.Find({"new " + std::to_string(i) + std::string(900, 'x')})[0].has_value();
  }
  EXPECT_TRUE(store.Find({used_again})[0]);
  EXPECT_EQ(new_rows, 60);
  EXPECT_LT(old_rows, 80);
  EXPECT_GT(old_rows, 10);
}

TEST_F(StoreTest, NotesAndDecidedClassesAreListed) {
  {
    Store store(Options());
    store.SetNote("files", "a b");
    store.SetNote("files", "a c");
    store.Decided({3, 10, true, "layers.0.q", ""});
    store.Decided({1, 2, false, "loss", "the two terms differ"});
  }
  Store store(Options());
  EXPECT_EQ(store.Note("files"), "a c");
  EXPECT_EQ(store.Note("none"), "");
  const auto all = store.AllDecided();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].stage, "loss");
  EXPECT_FALSE(all[0].proved);
  EXPECT_EQ(all[1].members, 10);
  store.Clear();
  EXPECT_TRUE(store.AllDecided().empty());
}

TEST_F(StoreTest, DeletingLeavesNothing) {
  Fill(5);
  ASSERT_TRUE(DeleteStoreFile(path_).ok());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(Found(5), 0);
  Store user(Options());
  ASSERT_TRUE(user.Open());
  EXPECT_EQ(DeleteStoreFile(path_).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace planproof::verdict_cache
