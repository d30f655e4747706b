// A Python that has NumPy, for tests of what is written for it.
#ifndef PLANPROOF_TESTS_NUMPY_PYTHON_H_
#define PLANPROOF_TESTS_NUMPY_PYTHON_H_

#include <cstdlib>
#include <string>

namespace planproof {

// Empty if there is none: PLANPROOF_NUMPY_PYTHON names one (apt-get install python3-numpy).
inline std::string NumpyPython() {
  const char* named = std::getenv("PLANPROOF_NUMPY_PYTHON");
  for (const std::string& python : {std::string(named == nullptr ? "" : named),
                                    std::string("python3"), std::string("/usr/bin/python3"),
                                    std::string(PLANPROOF_SOURCE_DIR "/.cache/torch/bin/python")}) {
    const std::string command = "'" + python + "' -c 'import numpy' >/dev/null 2>&1";
    if (!python.empty() && std::system(command.c_str()) == 0) return python;
  }
  return "";
}

}  // namespace planproof

#endif  // PLANPROOF_TESTS_NUMPY_PYTHON_H_
