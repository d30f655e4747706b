#include "tests/structure/source_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace planproof::structure {
namespace {

namespace fs = std::filesystem;

struct Token {
  std::string text;  // a word, or one character; "" for a literal
  int line = 0;
};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Words and punctuation, without comments, literals' contents and preprocessor lines.
class Lexer {
 public:
  explicit Lexer(const std::vector<std::string>& lines) : lines_(lines) {}

  std::vector<Token> Run() {
    for (row_ = 0; row_ < lines_.size(); ++row_) {
      const size_t first = lines_[row_].find_first_not_of(" \t");
      if (!comment_ && first != std::string::npos && lines_[row_][first] == '#') {
        while (lines_[row_].ends_with('\\') && row_ + 1 < lines_.size()) ++row_;
        continue;
      }
      for (column_ = 0; column_ < lines_[row_].size();) Step();
    }
    return std::move(tokens_);
  }

 private:
  bool At(const char* text) const { return lines_[row_].compare(column_, 2, text) == 0; }
  void Emit(std::string text) { tokens_.push_back({std::move(text), static_cast<int>(row_) + 1}); }

  void Step() {
    const std::string& line = lines_[row_];
    if (comment_) {
      const size_t end = line.find("*/", column_);
      comment_ = end == std::string::npos;
      column_ = comment_ ? line.size() : end + 2;
    } else if (At("//")) {
      column_ = line.size();
    } else if (At("/*")) {
      comment_ = true;
      column_ += 2;
    } else if (IsWordCharacter(line[column_])) {
      Word();
    } else if (line[column_] == '"' || line[column_] == '\'') {
      Quoted(line[column_]);
    } else {
      if (line[column_] != ' ' && line[column_] != '\t') Emit(std::string(1, line[column_]));
      ++column_;
    }
  }

  void Word() {
    const std::string& line = lines_[row_];
    const bool number = std::isdigit(static_cast<unsigned char>(line[column_])) != 0;
    size_t end = column_;
    while (end < line.size() &&
           (IsWordCharacter(line[end]) || (number && line[end] == '\'' && end + 1 < line.size() &&
                                           IsWordCharacter(line[end + 1])))) {
      ++end;
    }
    std::string word = line.substr(column_, end - column_);
    column_ = end;
    if (word.ends_with('R') && column_ < line.size() && line[column_] == '"') return Raw();
    Emit(std::move(word));
  }

  void Quoted(char quote) {
    const std::string& line = lines_[row_];
    Emit("");
    for (++column_; column_ < line.size() && line[column_] != quote; ++column_) {
      if (line[column_] == '\\') ++column_;
    }
    ++column_;
  }

  void Raw() {
    const size_t open = lines_[row_].find('(', column_);
    const std::string close = ")" + lines_[row_].substr(column_ + 1, open - column_ - 1) + "\"";
    Emit("");
    column_ = open + 1;
    for (; row_ < lines_.size(); ++row_, column_ = 0) {
      const size_t end = lines_[row_].find(close, column_);
      if (end == std::string::npos) continue;
      column_ = end + close.size();
      return;
    }
    --row_;
    column_ = lines_[row_].size();
  }

  const std::vector<std::string>& lines_;
  std::vector<Token> tokens_;
  size_t row_ = 0, column_ = 0;
  bool comment_ = false;
};

// The declarations of a scope, and of the namespaces and classes within it.
class Scopes {
 public:
  explicit Scopes(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<FunctionDefinition> Run() {
    while (at_ < tokens_.size()) Declaration();
    return std::move(found_);
  }

 private:
  const std::string& Text(size_t i) const { return tokens_[i].text; }

  // From one ';', '{' or '}' to the next.
  void Declaration() {
    const size_t first = at_;
    int parentheses = 0;
    for (; at_ < tokens_.size(); ++at_) {
      const std::string& text = Text(at_);
      if (text == "(" || text == "[") ++parentheses;
      if (text == ")" || text == "]") --parentheses;
      if (parentheses > 0 && text == "{") {  // a default argument, a lambda
        SkipBraces();
        continue;
      }
      if (parentheses > 0) continue;
      if (text == ";" || text == "}" || (text == ":" && IsAccess(first))) {
        ++at_;
        return;
      }
      if (text != "{") continue;
      if (IsScope(first)) {
        ++at_;
        return;  // what is inside are declarations, too
      }
      if (!IsBody(first)) {
        SkipBraces();
        continue;
      }
      const int first_line = tokens_[first].line;
      const std::string name = NameOf(first);
      SkipBraces();
      found_.push_back({name, first_line, tokens_[at_].line});
      ++at_;
      return;
    }
  }

  // From an opening brace to the one that closes it.
  void SkipBraces() {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      if (Text(at_) == "{") ++depth;
      if (Text(at_) == "}" && --depth == 0) return;
    }
    at_ = tokens_.size() - 1;
  }

  bool Has(size_t first, const char* word) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(first),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(at_),
                       [&](const Token& t) { return t.text == word; });
  }

  // The words of the declaration are "public", "protected" or "private".
  bool IsAccess(size_t first) const {
    return at_ == first + 1 &&
           (Text(first) == "public" || Text(first) == "protected" || Text(first) == "private");
  }

  bool IsScope(size_t first) const {
    if (Has(first, "(") || Has(first, "=") || Has(first, "enum")) return false;
    return Has(first, "namespace") || Has(first, "class") || Has(first, "struct") ||
           Has(first, "union") || Has(first, "extern");
  }

  // Otherwise it is the value of a variable or of a member, or an enumeration.
  bool IsBody(size_t first) const {
    if (!Has(first, "(") || Has(first, "enum")) return false;
    const std::string& before = Text(at_ - 1);
    static const std::set<std::string> ends = {")", "const", "override", "noexcept", "final", "}"};
    if (ends.contains(before)) return true;
    return Has(first, "-") && Has(first, ">") && !Has(first, "=");  // -> Type {
  }

  // What stands before the first parenthesis.
  std::string NameOf(size_t first) const {
    size_t open = first;
    while (Text(open) != "(") ++open;
    size_t begin = open;
    while (begin > first && (IsWord(begin - 1) || Text(begin - 1) == ":" || Text(begin - 1) == "~"))
      --begin;
    std::string name;
    for (size_t i = begin; i < open; ++i) {
      if (!name.empty() && IsWord(i) && IsWordCharacter(name.back())) name.clear();  // a type
      name += Text(i);
    }
    return name;
  }
  bool IsWord(size_t i) const { return !Text(i).empty() && IsWordCharacter(Text(i)[0]); }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::vector<FunctionDefinition> found_;
};

}  // namespace

std::vector<SourceFile> Sources(const std::set<std::string>& directories,
                                const std::set<std::string>& extensions) {
  const fs::path root = PLANPROOF_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const std::string& directory : directories) {
    if (!fs::exists(root / directory)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / directory)) {
      if (!entry.is_regular_file() || !extensions.contains(entry.path().extension().string()))
        continue;
      SourceFile file{fs::relative(entry.path(), root).string(), directory, {}};
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

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

std::vector<FunctionDefinition> FunctionsOf(const std::vector<std::string>& lines) {
  return Scopes(Lexer(lines).Run()).Run();
}

}  // namespace planproof::structure
