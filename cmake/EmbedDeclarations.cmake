# cmake -DOUTPUT=FILE.cc -DROOT=DIR -DFILES="a.op;b.op" -P EmbedDeclarations.cmake
# Writes the files' texts as C++ string literals (pieces of at most 8 kB, as compilers limit them).
set(entries "")
foreach(file ${FILES})
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} text)
  set(pieces "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND pieces "R\"planproof(${piece})planproof\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND entries "      {\"${name}\",\n${pieces}},\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"sdfg/builtin_declarations.h\"

namespace planproof::sdfg {

const std::vector<BuiltInDeclarations>& BuiltInDeclarationFiles() {
  static const auto* const files = new std::vector<BuiltInDeclarations>{
${entries}  };
  return *files;
}

}  // namespace planproof::sdfg
")
