#include "report/markup.h"

#include <gtest/gtest.h>

#include <string>

namespace planproof::report {
namespace {

TEST(Markup, OfTextIsNone) {
  EXPECT_EQ(MarkupText("a<b>&\"c\"'d'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  EXPECT_EQ(MarkupText("</script><img onerror=\"x\">"),
            "&lt;/script&gt;&lt;img onerror=&quot;x&quot;&gt;");
  EXPECT_EQ(MarkupText("ä€😀\n\tz"), "ä€😀\n\tz");
}

TEST(Markup, BytesThatAreNoTextAreReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(MarkupText("\xff"), mark);
  EXPECT_EQ(MarkupText(std::string(1, '\0')), mark);
  EXPECT_EQ(MarkupText("\x1b[2J"), mark + "[2J");
  EXPECT_EQ(MarkupText("\xc0\xbc"), mark + mark);             // "<" in too many bytes
  EXPECT_EQ(MarkupText("\xed\xa0\x80"), mark + mark + mark);  // half a surrogate pair
  EXPECT_EQ(MarkupText("\xef\xbf\xbf"), mark);                // no character
  EXPECT_EQ(MarkupText("\xe2\x82"), mark + mark);             // cut off
  EXPECT_EQ(MarkupText("\xc2\x85"), mark);                    // a control character
}

TEST(Markup, JsonInAScriptCannotEndIt) {
  EXPECT_EQ(JsonInScript(R"({"a":"</script><!--&"})"),
            "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}");
}

}  // namespace
}  // namespace planproof::report
