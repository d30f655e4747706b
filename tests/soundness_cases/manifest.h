// The list of soundness cases (manifest.json, written by make_cases.py).
#ifndef PLANPROOF_TESTS_SOUNDNESS_CASES_MANIFEST_H_
#define PLANPROOF_TESTS_SOUNDNESS_CASES_MANIFEST_H_

#include <ostream>
#include <string>
#include <vector>

namespace planproof::soundness {

struct Case {
  std::string file;                   // below cases/
  std::string row;                    // "R1"
  std::vector<std::string> verdicts;  // any of these is right
  std::vector<std::string> premises;  // each must occur in a listed premise or restriction
  std::string catches;                // the shortcut that gets the row wrong
  bool judge = true;                  // random inputs at full size decide it
};

// Without it GoogleTest prints the bytes of each, at the start of each process.
inline void PrintTo(const Case& item, std::ostream* out) { *out << item.file; }

std::string CasesDirectory();
// Read once: each process of a test runner begins with it.
const std::vector<Case>& ReadManifest();

}  // namespace planproof::soundness

#endif  // PLANPROOF_TESTS_SOUNDNESS_CASES_MANIFEST_H_
