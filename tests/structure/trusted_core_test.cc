// The trusted core is what docs/trusted-core.md lists, includes nothing else of ours, and is short
// enough to be read function by function.
#include "tests/structure/trusted_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace planproof::structure {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLinesOfFile = 500;
constexpr int kMaxLinesOfFunction = 80;
constexpr char kDocument[] = "docs/trusted-core.md";
constexpr char kBegin[] = "<!-- generated: make docs -->\n";
constexpr char kEnd[] = "<!-- end of what is generated -->\n";

std::string ReadDocument(const std::string& path) {
  std::ifstream in(fs::path(PLANPROOF_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The sizes of the tables by file.
std::map<std::string, int> SizesIn(const std::string& tables) {
  std::map<std::string, int> sizes;
  std::istringstream lines(tables);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find("` | ");
    if (!line.starts_with("| `") || end == std::string::npos) continue;
    sizes[line.substr(3, end - 3)] = std::atoi(line.c_str() + end + 4);
  }
  return sizes;
}

TEST(TrustedCore, IncludesNothingOutside) {
  const std::vector<CorePart> core = TrustedCore();
  std::set<std::string> inside;
  for (const CorePart& part : core) {
    for (const SourceFile& file : part.files) inside.insert(file.path);
  }
  int includes = 0;
  for (const CorePart& part : core) {
    for (const SourceFile& file : part.files) {
      for (const std::string& line : file.lines) {
        bool quoted = false;
        const std::string path = IncludedPath(line, &quoted);
        if (!quoted || !fs::exists(fs::path(PLANPROOF_SOURCE_DIR) / path)) continue;
        ++includes;
        EXPECT_TRUE(inside.contains(path))
            << file.path << " is trusted and includes " << path << ", which is not";
      }
    }
  }
  EXPECT_GT(includes, 200);
}

TEST(TrustedCore, EveryOutsiderIsThere) {
  const std::vector<SourceFile> files =
      Sources({"solver", "sdfg", "lineage", "stages", "verdict_cache"}, {".cc", ".h", ".proto"});
  for (const Outsider& outsider : Outsiders()) {
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), [&](const SourceFile& file) {
      return file.path.starts_with(outsider.path);
    })) << outsider.path;
  }
}

// PLANPROOF_WRITE_DOCS=1 structure_tests --gtest_filter='*ListIsCurrent*' writes it anew. Sizes may
// be off by a fifth, so that not every change of a file is one of the list.
TEST(TrustedCore, ListIsCurrent) {
  const std::string document = ReadDocument(kDocument);
  const size_t begin = document.find(kBegin), end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << kDocument;
  ASSERT_NE(end, std::string::npos) << kDocument;
  const std::string tables = "\n" + TrustedCoreTables() + "\n";
  const size_t from = begin + sizeof(kBegin) - 1;
  if (std::getenv("PLANPROOF_WRITE_DOCS") != nullptr) {
    std::ofstream(fs::path(PLANPROOF_SOURCE_DIR) / kDocument)
        << document.substr(0, from) << tables << document.substr(end);
    return;
  }
  const std::map<std::string, int> listed = SizesIn(document.substr(from, end - from)),
                                   built = SizesIn(tables);
  for (const auto& [file, lines] : built) {
    const auto at = listed.find(file);
    EXPECT_TRUE(at != listed.end()) << file << " is not listed in " << kDocument << ": make docs";
    if (at == listed.end()) continue;
    EXPECT_LE(std::abs(at->second - lines), std::max(40, lines / 5))
        << file << ": its size in " << kDocument << " is out of date: make docs";
  }
  for (const auto& [file, lines] : listed)
    EXPECT_TRUE(built.contains(file)) << file << " is listed and not built: make docs";
}

TEST(TrustedCore, FilesAndFunctionsAreShort) {
  int functions = 0;
  for (const CorePart& part : TrustedCore()) {
    for (const SourceFile& file : part.files) {
      EXPECT_LE(file.lines.size(), kMaxLinesOfFile) << file.path;
      for (const FunctionDefinition& function : FunctionsOf(file.lines)) {
        ++functions;
        EXPECT_LE(function.Lines(), kMaxLinesOfFunction)
            << file.path << ":" << function.first_line << ": " << function.name
            << " holds more than one idea";
      }
    }
  }
  EXPECT_GT(functions, 1000);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(FunctionsOfASource, AreFoundWithTheirLines) {
  const std::vector<FunctionDefinition> found = FunctionsOf(Lines(R"--(#define ODD {
namespace a {
/* { */ int Plain(int x) {  // {
  if (x > 0) {
    return '{';
  }
  return 1'000;
}
class C : public B {
 public:
  C(int a, int b)
      : a_{a}, b_(b) {
  }
  bool Has() const override { return a_ > 0; }
  int a_{3};
  std::vector<int> list_ = {1, 2};
};
template <typename T>
auto Of(T t) -> std::vector<T> {
  return {t};
}
const std::map<int, int> kMap = {{1, f(2)}};
enum class E : uint8_t { kA, kB };
std::string C::Text(int (*call)(int)) const {
  const auto inner = [&](int y) {
    return "}";
  };
  return R"(
}
)";
}
bool operator==(const C& x, const C& y) {
  return true;
}
}  // namespace a
)--"));
  std::vector<std::pair<std::string, int>> seen;
  for (const FunctionDefinition& f : found) seen.emplace_back(f.name, f.Lines());
  const std::vector<std::pair<std::string, int>> expected = {
      {"Plain", 6}, {"C", 3}, {"Has", 1}, {"Of", 4}, {"C::Text", 8}, {"", 3}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace planproof::structure
