// The layers of the source tree: who may include whom, and what every file and directory must keep
// to.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planproof::structure {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLines = 500;

// What each layer may include besides itself (docs/architecture.md has the same table).
const std::map<std::string, std::set<std::string>>& MayInclude() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"solver", {}},
      {"sdfg", {"solver"}},
      {"lineage", {"solver", "sdfg"}},
      {"witness", {"sdfg"}},
      {"dumps", {"sdfg"}},
      {"shape_reduction", {"solver", "sdfg", "lineage", "witness"}},
      {"verdict_cache", {}},
      {"stages", {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache"}},
      {"inference", {"solver", "sdfg", "lineage", "shape_reduction", "stages"}},
      {"diagnosis",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "stages", "inference"}},
      {"smt", {"solver", "sdfg", "lineage", "stages"}},
      {"strategy",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache", "stages",
        "inference", "diagnosis", "smt"}},
      {"frontend", {"solver", "sdfg", "lineage"}},
      {"generator", {"solver", "sdfg", "lineage", "frontend"}},
      {"mutation", {"solver", "sdfg", "lineage", "frontend"}},
      {"runtime_check", {"solver", "sdfg", "lineage", "witness", "dumps", "shape_reduction"}},
      {"anchor", {"solver", "sdfg", "lineage", "frontend", "dumps", "runtime_check", "stages"}},
      {"monitor", {"solver", "sdfg", "lineage", "dumps", "runtime_check", "stages"}},
      {"cluster",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache", "stages"}},
      {"planproof",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache", "stages",
        "inference", "strategy", "frontend", "anchor", "report"}},
      {"report",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache", "stages",
        "diagnosis", "strategy", "frontend", "dumps", "runtime_check", "monitor"}},
      {"cli",
       {"solver", "sdfg", "lineage", "witness", "shape_reduction", "verdict_cache", "stages",
        "inference", "diagnosis", "strategy", "frontend", "generator", "mutation", "dumps",
        "runtime_check", "anchor", "monitor", "cluster", "report"}},
  };
  return table;
}

std::vector<SourceFile> LayerSources() {
  std::set<std::string> layers;
  for (const auto& [layer, below] : MayInclude()) layers.insert(layer);
  return Sources(layers);
}

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

// What is installed can be used without what is not, and shows nothing of it.
TEST(Structure, PublicHeadersIncludeOnlyPublicOnes) {
  for (const SourceFile& file : Sources({"planproof"})) {
    if (!file.path.ends_with(".h")) continue;
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      EXPECT_TRUE(!quoted || path.empty() || FirstComponent(path) == "planproof" ||
                  path.rfind("absl/status/", 0) == 0)
          << file.path << " includes " << path;
    }
  }
}

// A reader says what is required by lineage::ProblemBuilder, which knows where that may come from.
TEST(Structure, OnlyTheBuilderMakesRequiredRelations) {
  for (const SourceFile& file : LayerSources()) {
    if (file.layer != "frontend") continue;
    for (const std::string& line : file.lines) {
      EXPECT_EQ(line.find("required.push_back"), std::string::npos) << file.path << ": " << line;
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

TEST(Structure, OnlyFilesOfItsNameKnowCuda) {
  for (const SourceFile& file : LayerSources()) {
    if (file.path.rfind("runtime_check/cuda/cuda_", 0) == 0) continue;
    for (const std::string& line : file.lines) {
      bool quoted = false;
      const std::string path = IncludedPath(line, &quoted);
      const std::set<std::string> known = {"cuda.h",      "cuda_runtime.h",
                                           "nvrtc.h",     "nccl.h",
                                           "cublas_v2.h", "runtime_check/cuda/cuda_libraries.h"};
      EXPECT_FALSE(known.contains(path))
          << file.path << " includes " << path << ": only runtime_check/cuda/cuda_* may";
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
  std::set<std::string> rooms = {"tests", "benchmarks", "examples", "scripts", "python"};
  for (const auto& [layer, below] : MayInclude()) rooms.insert(layer);
  std::set<std::string> kinds;
  for (const SourceFile& file : Sources(rooms, {".cc", ".h", ".proto", ".py", ".sh"})) {
    kinds.insert(file.path.substr(file.path.rfind('.')));
    EXPECT_LE(file.lines.size(), kMaxLines) << file.path << " holds more than one idea";
  }
  EXPECT_EQ(kinds.size(), 5u);
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
}  // namespace planproof::structure
