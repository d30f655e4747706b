// A directory of a test's own.
#ifndef PLANPROOF_TESTS_TEMPORARY_DIRECTORY_H_
#define PLANPROOF_TESTS_TEMPORARY_DIRECTORY_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace planproof {

// Empty when made, removed with its maker; other processes have others.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& name)
      : path_(testing::TempDir() + "planproof_" + name + "_" + std::to_string(owner_) + "/") {
    std::filesystem::remove_all(path_);  // of an earlier process of this number
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // Ends with a slash.
  const std::string& path() const { return path_; }

 private:
  const pid_t owner_ = getpid();
  const std::string path_;
};

}  // namespace planproof

#endif  // PLANPROOF_TESTS_TEMPORARY_DIRECTORY_H_
