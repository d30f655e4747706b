# cmake -DOUTPUT=FILE.cc -DSTYLE=page.css -DSCRIPT=page.js -P EmbedPage.cmake
# Writes both files' texts as C++ string literals, and the hash of the script as a page's
# Content-Security-Policy names it.
function(literal file result)
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)  # compilers limit a literal
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND pieces "R\"planproof(${piece})planproof\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${result} "${pieces}" PARENT_SCOPE)
endfunction()

# Base 64 of the digits of a hexadecimal number of 32 bytes.
function(base64 hexadecimal result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(out "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hexadecimal}0000" ${at} 6 digits)
    math(EXPR value "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR digit "(${value} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${digit} 1 character)
      string(APPEND out "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${out}" 0 43 out)
  set(${result} "${out}=" PARENT_SCOPE)
endfunction()

literal(${STYLE} style)
literal(${SCRIPT} script)
file(SHA256 ${SCRIPT} hash)
base64(${hash} hash)
file(WRITE ${OUTPUT}
"#include \"report/html/page_files.h\"

namespace planproof::report {

const char* PageStyle() {
  return ${style};
}

const char* PageScript() {
  return ${script};
}

const char* PageScriptHash() { return \"sha256-${hash}\"; }

}  // namespace planproof::report
")
