#include "tests/cli/command_line.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/temporary_directory.h"

namespace planproof::cli {
namespace {

const std::string& TestDirectory() {
  static const TemporaryDirectory directory("cli");
  return directory.path();
}

}  // namespace

Finished RunCommand(const std::string& command) {
  const std::string output = TestDirectory() + "stdout";
  const std::string errors = TestDirectory() + "stderr";
  const int status =
      std::system(("{ " + command + "; } >" + output + " 2>" + errors + " </dev/null").c_str());
  Finished finished;
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  finished.output = ContentOf(output);
  finished.errors = ContentOf(errors);
  return finished;
}

Finished RunProgram(const std::string& arguments, const std::string& environment) {
  // A cache of this test's own, whoever runs it.
  static const std::string cache = TestDirectory() + "cache";
  return RunCommand("XDG_CACHE_HOME=" + cache + " " + environment + " " PLANPROOF_PROGRAM " " +
                    arguments);
}

std::string TemporaryFile(const std::string& name, const std::string& content) {
  const std::string path = TestDirectory() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string RepositoryPath(const std::string& path) {
  return std::string(PLANPROOF_SOURCE_DIR) + "/" + path;
}

std::string Example(const std::string& file) { return RepositoryPath("examples/" + file); }

std::string ContentOf(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

std::string FirstLines(const std::string& text, int count) {
  size_t end = 0;
  while (count-- > 0 && end != std::string::npos) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

std::string SharedPlan(const std::string& file) {
  const char* shared = std::getenv("PLANPROOF_SHARED");
  const std::string directory =
      shared != nullptr ? shared : std::string(PLANPROOF_SOURCE_DIR) + "/../shared";
  const std::string path = directory + "/data/nnscaler/" + file;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace planproof::cli
