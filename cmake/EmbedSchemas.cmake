# cmake -DOUTPUT=FILE.cc -DFILE=aten_schemas.txt -P EmbedSchemas.cmake
# Writes the signatures of ATen operators as one C++ string (pieces of at most 8 kB, as compilers limit them).
file(READ ${FILE} text)
set(pieces "")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "R\"planproof(${piece})planproof\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUTPUT}
"#include \"frontend/torch/aten_schema.h\"

namespace planproof::frontend::torch {

const char* const kAtenSchemas =
${pieces};

}  // namespace planproof::frontend::torch
")
