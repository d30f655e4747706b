#include "tests/structure/trusted_core.h"

#include <algorithm>
#include <utility>

namespace planproof::structure {
namespace {

struct Room {
  std::string path;  // a path's beginning
  size_t part;       // the longest room that fits counts
};

std::vector<CorePart> Parts() {
  return {
      {"Terms", "a rewriting that is no identity equates two values", {}},
      {"Meaning of operators",
       "an operator stands for another function, or is evaluated wrongly",
       {}},
      {"Relations", "something else is required, or a map means other elements", {}},
      {"Claims and induction",
       "what was shown is not what was claimed, or rests on what was not",
       {}},
      {"Order and memory", "a plan that overwrites what it still needs passes", {}},
      {"Processes and remembered proofs", "the answer to another question is taken over", {}},
  };
}

const std::vector<Room>& Rooms() {
  static const std::vector<Room> rooms = {
      {"solver/", 0},          {"sdfg/", 1},           {"lineage/", 2},       {"stages/", 3},
      {"stages/schedule/", 4}, {"stages/workers/", 5}, {"verdict_cache/", 5},
  };
  return rooms;
}

}  // namespace

const std::vector<Outsider>& Outsiders() {
  static const std::vector<Outsider> outsiders = {
      {"lineage/folding/alignment", "guesses which operators correspond: CheckFolding decides"},
      {"lineage/folding/fold.cc", "makes folded forms: CheckFolding decides"},
      {"lineage/folding/fold_plan", "guesses what can be folded: CheckFolding decides"},
      {"lineage/folding/groups", "guesses which devices correspond: CheckFolding decides"},
      {"sdfg/dense_evaluator", "numbers, for tests"},
      {"sdfg/index_function_print", "text"},
      {"sdfg/operator_page", "text"},
      {"solver/print", "text"},
      {"solver/shared_module", "loads Z3"},
      {"solver/smt_term", "for Z3, with `--engine smt` only"},
      {"solver/z3_", "Z3, with `--engine smt` only"},
      {"stages/account", "what was decided, as data for reports"},
  };
  return outsiders;
}

bool IsOutside(const std::string& path) {
  return std::any_of(Outsiders().begin(), Outsiders().end(), [&](const Outsider& outsider) {
    if (path == outsider.path) return true;
    if (!path.starts_with(outsider.path)) return false;
    if (outsider.path.ends_with('/') || outsider.path.ends_with('_')) return true;
    return path[outsider.path.size()] == '.';  // its .h and .cc
  });
}

std::vector<CorePart> TrustedCore() {
  std::set<std::string> layers;
  for (const Room& room : Rooms()) layers.insert(FirstComponent(room.path));
  std::vector<SourceFile> files = Sources(layers, {".cc", ".h", ".proto"});
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  std::vector<CorePart> parts = Parts();
  for (SourceFile& file : files) {
    if (IsOutside(file.path)) continue;
    const Room* best = nullptr;
    for (const Room& room : Rooms()) {
      if (!file.path.starts_with(room.path)) continue;
      if (best == nullptr || room.path.size() > best->path.size()) best = &room;
    }
    if (best != nullptr) parts[best->part].files.push_back(std::move(file));
  }
  return parts;
}

std::string OpeningComment(const SourceFile& file) {
  std::string text;
  for (const std::string& line : file.lines) {
    if (!line.starts_with("//")) break;
    const size_t first = line.find_first_not_of("/ ");
    if (first == std::string::npos) break;  // the first paragraph
    if (!text.empty()) text += ' ';
    text += line.substr(first);
  }
  // Its first sentence.
  for (size_t at = 0; (at = text.find_first_of(".:", at)) != std::string::npos; ++at) {
    if (at + 1 == text.size() || text[at + 1] == ' ') return text.substr(0, at);
  }
  return text;
}

std::string TrustedCoreTables() {
  std::string text;
  size_t total = 0;
  for (const CorePart& part : TrustedCore()) {
    size_t lines = 0;
    std::string rows;
    // A header and its .cc are one row, and so are the files that only have a .cc.
    for (size_t i = 0; i < part.files.size(); ++i) {
      const SourceFile& file = part.files[i];
      const std::string stem = file.path.substr(0, file.path.rfind('.'));
      size_t own = file.lines.size();
      std::string name = file.path, about = OpeningComment(file);
      if (i + 1 < part.files.size() && part.files[i + 1].path == stem + ".h") {
        const SourceFile& header = part.files[++i];
        own += header.lines.size();
        name = stem + ".{h,cc}";
        if (const std::string said = OpeningComment(header); !said.empty()) about = said;
      }
      lines += own;
      rows += "| `" + name + "` | " + std::to_string(own) + " | " + about + " |\n";
    }
    text += "### " + part.title + "\n\nA mistake here: " + part.why + ". " + std::to_string(lines) +
            " lines.\n\n| file | lines | |\n| --- | ---: | --- |\n" + rows + "\n";
    total += lines;
  }
  text += "In all " + std::to_string(total) + " lines.\n\n### Outside, though in these rooms\n\n" +
          "| file | why a mistake there makes no false PROVED |\n| --- | --- |\n";
  for (const Outsider& outsider : Outsiders())
    text += "| `" + outsider.path +
            (outsider.path.ends_with('/') || outsider.path.ends_with(".cc") ? "" : "*") + "` | " +
            outsider.why + " |\n";
  return text;
}

}  // namespace planproof::structure
