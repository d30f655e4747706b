# cmake -DOUTPUT=FILE.cc -DROOT=DIR -DLAYERS="a;b" -DCOMPILER=TEXT -P EngineVersion.cmake
# Writes the hash of everything that can change a verdict about a claim: the layers' sources and headers,
# their declarations and messages, and the compiler. A stored verdict is believed only by the engine that gave it.
set(text "${COMPILER}\n")
foreach(layer ${LAYERS})
  file(GLOB_RECURSE files LIST_DIRECTORIES false
       ${ROOT}/${layer}/*.cc ${ROOT}/${layer}/*.h ${ROOT}/${layer}/*.op ${ROOT}/${layer}/*.proto)
  list(SORT files)
  foreach(file ${files})
    file(SHA256 ${file} hash)
    file(RELATIVE_PATH name ${ROOT} ${file})
    string(APPEND text "${name} ${hash}\n")
  endforeach()
endforeach()
string(SHA256 version "${text}")
file(WRITE ${OUTPUT}
"#include \"stages/engine_version.h\"

namespace planproof::stages {

const char* EngineVersion() { return \"${version}\"; }

}  // namespace planproof::stages
")
