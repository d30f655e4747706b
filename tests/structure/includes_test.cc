// The layers of the source tree: who may include whom, and what every file and directory must keep
// to.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLines = 600;

// What each layer may include besides itself (docs/architecture.md has the same table).
const std::map<std::string, std::set<std::string>>& MayInclude() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"solver", {}},
      {"sdfg", {"solver"}},
      {"lineage", {"solver", "sdfg"}},
      {"shape_reduction", {"solver", "sdfg", "lineage"}},
      {"verdict_cache", {}},
      {"stages", {"solver", "sdfg", "lineage", "shape_reduction", "verdict_cache"}},
      {"frontend", {"solver", "sdfg", "lineage"}},
      {"generator", {"solver", "sdfg", "lineage", "frontend"}},
      {"mutation", {"solver", "sdfg", "lineage", "frontend"}},
      {"runtime_check", {"solver", "sdfg", "lineage"}},
      {"cluster", {"solver", "sdfg", "lineage", "shape_reduction", "verdict_cache", "stages"}},
      {"report",
       {"solver", "sdfg", "lineage", "shape_reduction", "verdict_cache", "stages", "frontend",
        "runtime_check"}},
      {"cli",
       {"solver", "sdfg", "lineage", "shape_reduction", "verdict_cache", "stages", "frontend",
        "generator", "mutation", "runtime_check", "cluster", "report"}},
  };
  return table;
}

struct SourceFile {
  std::string path;   // from the root
  std::string layer;  // first component
  std::vector<std::string> lines;
};

std::vector<SourceFile> Sources(const std::set<std::string>& directories) {
  const fs::path root = PLANPROOF_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const std::string& directory : directories) {
    if (!fs::exists(root / directory)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / directory)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".cc" && extension != ".h")) continue;
      SourceFile file{fs::relative(entry.path(), root).string(), directory, {}};
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<SourceFile> LayerSources() {
  std::set<std::string> layers;
  for (const auto& [layer, below] : MayInclude()) layers.insert(layer);
  return Sources(layers);
}

// The path of `#include "path"` or `#include <path>`; empty for other lines. `quoted` says which.
std::string IncludedPath(const std::string& line, bool* quoted) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return "";
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return "";
  const size_t open = line.find_first_of("<\"", at);
  if (open == std::string::npos) return "";
  *quoted = line[open] == '"';
  const size_t close = line.find(*quoted ? '"' : '>', open + 1);
  return close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

std::string FirstComponent(const std::string& path) { return path.substr(0, path.find('/')); }

TEST(Structure, EveryLayerWithSourcesIsInTheTable) {
  EXPECT_GE(LayerSources().size(), 10u);
  for (const auto& entry : fs::directory_iterator(PLANPROOF_SOURCE_DIR)) {
    if (!entry.is_directory() || !fs::exists(entry.path() / "CMakeLists.txt")) continue;
    const std::string name = entry.path().filename().string();
    if (name == "tests" || name == "benchmarks" || name == "examples" || name == "third_party" ||
        name == "docs" || name.rfind("build", 0) == 0) {
      continue;
    }
    EXPECT_TRUE(MayInclude().contains(name)) << name << " is no layer";
  }
}

TEST(Structure, IncludesPointOneWay) {
  for (const SourceFile& file : LayerSources()) {
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      const std::string layer = FirstComponent(path);
      if (!MayInclude().contains(layer) || layer == file.layer) continue;
      EXPECT_TRUE(MayInclude().at(file.layer).contains(layer))
          << file.path << " includes " << path << ", which " << file.layer << " must not know";
    }
  }
}

TEST(Structure, OurHeadersAreIncludedFromTheRoot) {
  for (const SourceFile& file : LayerSources()) {
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      if (!quoted || path.empty()) continue;
      const fs::path root = PLANPROOF_SOURCE_DIR;
      EXPECT_FALSE(fs::exists((root / file.path).parent_path() / path))
          << file.path << " includes \"" << path << "\": write it from the root of the tree";
      EXPECT_EQ(path.find(".."), std::string::npos) << file.path << " includes " << path;
    }
  }
}

TEST(Structure, OnlyTheSolverKnowsZ3) {
  for (const SourceFile& file : LayerSources()) {
    if (file.path.rfind("solver/z3_", 0) == 0 && file.path.ends_with(".cc")) continue;
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      EXPECT_FALSE(path == "z3.h" || path == "z3++.h" || path.rfind("z3_", 0) == 0 ||
                   path.rfind("z3/", 0) == 0)
          << file.path << " includes " << path << ": only solver/z3_*.cc may";
    }
  }
}

TEST(Structure, OneFileEachKnowsMpiAndSqlite) {
  for (const SourceFile& file : LayerSources()) {
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      EXPECT_TRUE(path != "mpi.h" || file.path == "cluster/mpi_module.cc") << file.path;
      EXPECT_TRUE(path != "sqlite3.h" || file.path == "verdict_cache/sqlite.cc") << file.path;
    }
  }
}

TEST(Structure, FilesStayShort) {
  std::vector<SourceFile> files = LayerSources();
  for (SourceFile& file : Sources({"tests", "benchmarks"})) files.push_back(std::move(file));
  for (const SourceFile& file : files) {
    EXPECT_LE(file.lines.size(), kMostLines) << file.path << " holds more than one idea";
  }
}

TEST(Structure, HeadersAreGuardedByTheirPath) {
  for (const SourceFile& file : LayerSources()) {
    if (!file.path.ends_with(".h")) continue;
    std::string guard = "PLANPROOF_";
    for (const char c : file.path) {
      guard +=
          std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(c)) : '_';
    }
    guard += '_';
    bool found = false;
    for (const std::string& line : file.lines) found = found || line == "#ifndef " + guard;
    EXPECT_TRUE(found) << file.path << " is not guarded by " << guard;
  }
}

TEST(Structure, EveryLayerHasAReadme) {
  for (const auto& [layer, below] : MayInclude()) {
    EXPECT_TRUE(fs::exists(fs::path(PLANPROOF_SOURCE_DIR) / layer / "README.md")) << layer;
  }
}

}  // namespace
