// The documentation as text: how it is wrapped, that its links lead to files, that its pages and
// records are listed, and that headers begin by saying what they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace planproof::structure {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxWidthOfProse = 120;
constexpr size_t kMaxLinesOfRecord = 20;

// Written from the declarations of operators, whose words and code it repeats line by line.
constexpr char kGeneratedPage[] = "docs/operators.md";

std::set<std::string> DocumentedRooms() {
  std::set<std::string> rooms;
  for (const auto& entry : fs::directory_iterator(PLANPROOF_SOURCE_DIR)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory() && !name.starts_with(".") && !name.starts_with("build") &&
        name != "shared" && name != "third_party") {
      rooms.insert(name);
    }
  }
  return rooms;
}

std::vector<std::string> LinesOfPage(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream stream(fs::path(PLANPROOF_SOURCE_DIR) / path);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Below all directories, and in the root.
std::vector<SourceFile> Pages() {
  std::vector<SourceFile> pages = Sources(DocumentedRooms(), {".md"});
  for (const char* name : {"README.md", "CONTRIBUTING.md"}) {
    pages.push_back({name, "", LinesOfPage(name)});
  }
  return pages;
}

// In characters of UTF-8.
size_t WidthOf(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Not within a block of code (fenced, or four spaces in after a blank line), and no row of a table.
std::vector<size_t> LinesOfProse(const std::vector<std::string>& lines) {
  std::vector<size_t> prose;
  bool fenced = false, code = false, blank = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t first = lines[i].find_first_not_of(' ');
    if (first == std::string::npos) {
      blank = true;
      continue;
    }
    if (lines[i].compare(first, 3, "```") == 0) {
      fenced = !fenced;
    } else if (!fenced) {
      code = first >= 4 && (code || blank);
      if (!code && lines[i][first] != '|') prose.push_back(i);
    }
    blank = false;
  }
  return prose;
}

// Whether a comment begins with a verb in the third person, as far as its letters tell: "Folds
// ...", and not "Folding of ...", "What ...", "Masks of ...".
bool SaysWhatIsDone(const std::string& comment) {
  std::istringstream words(comment);
  std::string slashes, verb, next;
  words >> slashes >> verb >> next;
  if (verb.ends_with(",")) verb.pop_back();
  return slashes == "//" && verb.size() > 2 && std::isupper(static_cast<unsigned char>(verb[0])) &&
         verb.ends_with("s") && next != "of" && next != "as" && next != "whose";
}

// What `](...)` holds outside of code where it names a file, without what follows '#'.
std::vector<std::string> LinksIn(const std::string& line) {
  std::vector<std::string> links;
  for (size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 2)) {
    if (std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(at), '`') % 2 == 1)
      continue;  // within code
    const std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
    const std::string file = target.substr(0, target.find('#'));
    if (file.find_first_of("./") != std::string::npos && file.find("://") == std::string::npos)
      links.push_back(file);
  }
  return links;
}

std::string FolderOf(const std::string& path) { return fs::path(path).parent_path().string(); }

// Paths from the root to which a page links.
std::set<std::string> LinkedFrom(const std::string& page) {
  std::set<std::string> linked;
  for (const std::string& line : LinesOfPage(page)) {
    for (const std::string& link : LinksIn(line)) {
      linked.insert((fs::path(FolderOf(page)) / link).lexically_normal().string());
    }
  }
  return linked;
}

TEST(Documentation, ProseIsWrapped) {
  size_t checked = 0;
  for (const SourceFile& page : Pages()) {
    if (page.path == kGeneratedPage) continue;
    for (const size_t i : LinesOfProse(page.lines)) {
      ++checked;
      EXPECT_LE(WidthOf(page.lines[i]), kMaxWidthOfProse)
          << page.path << ":" << i + 1 << ": wrap prose at " << kMaxWidthOfProse;
    }
  }
  EXPECT_GT(checked, 1000u);
}

TEST(Documentation, ProseIsToldFromCodeAndTables) {
  EXPECT_EQ(LinesOfProse({"text", "    goes on", "", "    code", "", "    code", "text", "```", "x",
                          "```", "| row |", "- item", "  ```", "  code", "  ```"}),
            (std::vector<size_t>{0, 1, 6, 11}));
  EXPECT_EQ(WidthOf("\xc3\xa4x"), 2u);
}

TEST(Documentation, LinksLeadToFiles) {
  size_t links = 0;
  for (const SourceFile& page : Pages()) {
    for (size_t i = 0; i < page.lines.size(); ++i) {
      for (const std::string& link : LinksIn(page.lines[i])) {
        ++links;
        EXPECT_TRUE(fs::exists(fs::path(PLANPROOF_SOURCE_DIR) / FolderOf(page.path) / link))
            << page.path << ":" << i + 1 << ": there is no " << link;
      }
    }
  }
  EXPECT_GT(links, 100u);
  EXPECT_EQ(LinksIn("[a](b.md#c) [d](https://e) [f](#g) ![h](i.png) f[8](S(0)"),
            (std::vector<std::string>{"b.md", "i.png"}));
  EXPECT_EQ(LinksIn("`x[0](1)` [`a`](b.md)"), std::vector<std::string>{"b.md"});
}

TEST(Documentation, HeadersBeginWithWhatTheyDo) {
  std::set<std::string> rooms = DocumentedRooms();
  rooms.erase("tests");
  const std::vector<SourceFile> headers = Sources(rooms, {".h"});
  EXPECT_GT(headers.size(), 400u);
  for (const SourceFile& header : headers) {
    const auto comment =
        std::find_if(header.lines.begin(), header.lines.end(),
                     [](const std::string& line) { return line.starts_with("//"); });
    ASSERT_TRUE(comment != header.lines.end()) << header.path << " has no comment";
    EXPECT_TRUE(SaysWhatIsDone(*comment))
        << header.path << " begins with \"" << *comment << "\": say what it does, verb first";
  }
  for (const char* said : {"// Folds ranks: one", "// Suggests, for an error, what"})
    EXPECT_TRUE(SaysWhatIsDone(said)) << said;
  for (const char* named :
       {"// What is done", "// Masks as indices", "// A dump", "// Folding of x"})
    EXPECT_FALSE(SaysWhatIsDone(named)) << named;
}

TEST(Documentation, EveryPageIsListedInTheReadme) {
  const std::set<std::string> linked = LinkedFrom("README.md");
  for (const SourceFile& page : Sources({"docs"}, {".md"})) {
    if (FolderOf(page.path) != "docs") continue;
    EXPECT_TRUE(linked.contains(page.path)) << "README.md does not list " << page.path;
  }
}

TEST(Documentation, DecisionsAreNumberedDatedAndListed) {
  const std::set<std::string> linked = LinkedFrom("docs/decisions/README.md");
  std::vector<SourceFile> records = Sources({"docs/decisions"}, {".md"});
  std::sort(records.begin(), records.end(), [](const SourceFile& a, const SourceFile& b) {
    return a.path < b.path;  // README.md is the last one
  });
  ASSERT_GT(records.size(), 50u);
  records.pop_back();
  std::string date;
  for (size_t i = 0; i < records.size(); ++i) {
    const SourceFile& record = records[i];
    const std::string number = std::to_string(i + 1);
    EXPECT_TRUE(linked.contains(record.path)) << record.path << " is not in the index";
    EXPECT_EQ(fs::path(record.path).filename().string().substr(0, 5),
              std::string(4 - number.size(), '0') + number + "-");
    ASSERT_GT(record.lines.size(), 8u) << record.path;
    EXPECT_LE(record.lines.size(), kMaxLinesOfRecord) << record.path;
    EXPECT_TRUE(record.lines[0].starts_with("# " + number + ". ")) << record.path;
    EXPECT_LE(date, record.lines[2].substr(0, 10)) << record.path << " is earlier than the last";
    date = record.lines[2].substr(0, 10);
    for (const char* part : {"**Context.** ", "**Decision.** ", "**Consequence.** "}) {
      EXPECT_TRUE(std::any_of(record.lines.begin(), record.lines.end(),
                              [part](const std::string& line) { return line.starts_with(part); }))
          << record.path << " lacks " << part;
    }
  }
}

}  // namespace
}  // namespace planproof::structure
