#include "report/monitor_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/html/page_files.h"
#include "report/markup.h"
#include "report/report.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

using monitor::Alarm;
using monitor::CountedAlarm;
using monitor::Notice;
using monitor::NoticeKind;
using monitor::Tier;
using monitor::Watch;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kNoticesShown = 8;
constexpr size_t kOthersShown = 6;
constexpr Tier kTiers[] = {Tier::kProved, Tier::kDerived, Tier::kLaw, Tier::kLearned};

const char* NoticeName(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kNotObserved:
      return "not observed";
    case NoticeKind::kNotApplicable:
      return "not applicable";
    case NoticeKind::kBlind:
      return "blind";
    case NoticeKind::kDifference:
      return "difference";
    case NoticeKind::kEvent:
      return "event";
  }
  return "";
}

OrderedJson NumberOrNull(const std::optional<double>& number) {
  if (!number.has_value()) return nullptr;
  if (std::isfinite(*number)) return *number;
  return absl::StrCat(*number);
}

OrderedJson AlarmAsJson(const Alarm& alarm) {
  return {{"tier", monitor::TierName(alarm.tier)},
          {"rule", alarm.rule},
          {"step", alarm.step},
          {"ranks", alarm.ranks},
          {"subject", alarm.subject},
          {"statement", alarm.statement},
          {"expected", NumberOrNull(alarm.expected)},
          {"found", NumberOrNull(alarm.found)},
          {"tolerance", NumberOrNull(alarm.tolerance)},
          {"place", alarm.place},
          {"others", alarm.others}};
}

OrderedJson NoticeAsJson(const Notice& notice) {
  OrderedJson json = {{"kind", NoticeName(notice.kind)},
                      {"rule", notice.rule},
                      {"step", nullptr},
                      {"subject", notice.subject},
                      {"statement", notice.statement}};
  if (notice.step.has_value()) json["step"] = *notice.step;
  return json;
}

// UTF-8 whatever the names are.
std::string Dumped(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

const char* AnswerName(MonitorAnswer answer) {
  switch (answer) {
    case MonitorAnswer::kNoAlarm:
      return "no alarm";
    case MonitorAnswer::kAlarm:
      return "alarm";
    case MonitorAnswer::kNothingChecked:
      return "nothing checked";
  }
  return "";
}

std::string TextOfRanks(const std::vector<int>& ranks) {
  if (ranks.empty()) return "";
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", Ranges(ranks));
}

std::string CheckedInWords(const Watch& watch) {
  std::string text;
  for (const Tier tier : kTiers) {
    if (watch.checked(tier) == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", monitor::TierName(tier), " ",
                    Grouped(watch.checked(tier)));
  }
  return text.empty() ? "none" : text;
}

std::string FirstLine(const Watch& watch) {
  switch (AnswerOf(watch)) {
    case MonitorAnswer::kAlarm: {
      const Alarm& first = watch.alarms().front().alarm;
      return absl::StrCat("ALARM: step ", first.step, ": ", OneLine(first.subject, 120), ": ",
                          OneLine(first.statement, 400));
    }
    case MonitorAnswer::kNoAlarm:
      return absl::StrCat("NO ALARM: ", Grouped(watch.checked()), " facts of ",
                          Grouped(watch.steps()), " steps are as they should be");
    case MonitorAnswer::kNothingChecked:
      if (watch.other_program())
        return "NOTHING CHECKED: the healthy runs are of another program than this run";
      return absl::StrCat("NOTHING CHECKED: ", Grouped(watch.steps()),
                          " steps have no fact that something is known about");
  }
  return "";
}

std::string AlarmText(const CountedAlarm& counted) {
  const Alarm& alarm = counted.alarm;
  std::string text = absl::StrCat("\n", monitor::TierName(alarm.tier), " ", alarm.rule, ", step ",
                                  alarm.step, "\n");
  const auto add = [&text](const char* label, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, Labelled(label, value), "\n");
  };
  add("subject", OneLine(alarm.subject));
  add("says", OneLine(alarm.statement, 600));
  add("ranks", Ranges(alarm.ranks));
  if (alarm.expected.has_value() && alarm.found.has_value()) {
    add("expected",
        absl::StrFormat("%.9g, found %.9g", *alarm.expected, *alarm.found) +
            (alarm.tolerance.has_value() ? absl::StrFormat(" (tolerance %.3g)", *alarm.tolerance)
                                         : ""));
  }
  add("place", OneLine(alarm.place));
  add("also", OneLine(FirstOf(alarm.others, kOthersShown), 600));
  if (counted.steps > 1) {
    add("again", absl::StrCat("in ", Grouped(counted.steps - 1), " later steps, the last is ",
                              counted.last_step));
  }
  return text;
}

std::string NoticeText(const Notice& notice) {
  return absl::StrCat("  ", NoticeName(notice.kind), ": ",
                      notice.step.has_value() ? absl::StrCat("step ", *notice.step, ": ") : "",
                      OneLine(notice.subject, 120), ": ", OneLine(notice.statement, 400), "\n");
}

std::string CellsOf(const std::vector<std::string>& cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) absl::StrAppend(&row, "<td>", MarkupText(cell), "</td>");
  return row + "</tr>\n";
}

}  // namespace

MonitorAnswer AnswerOf(const Watch& watch) {
  if (!watch.alarms().empty()) return MonitorAnswer::kAlarm;
  if (watch.other_program()) return MonitorAnswer::kNothingChecked;
  return watch.checked() > 0 ? MonitorAnswer::kNoAlarm : MonitorAnswer::kNothingChecked;
}

int MonitorExitCode(MonitorAnswer answer) {
  switch (answer) {
    case MonitorAnswer::kNoAlarm:
      return 0;
    case MonitorAnswer::kAlarm:
      return 1;
    case MonitorAnswer::kNothingChecked:
      return 3;
  }
  return 3;
}

std::string TextMonitorReport(const Watch& watch, const MonitorText& text) {
  std::string out = FirstLine(watch) + "\n";
  absl::StrAppend(&out, Labelled("run", OneLine(text.run)), "\n");
  absl::StrAppend(&out, Labelled("ranks", absl::StrCat(text.ranks, " of ", text.world)), "\n");
  absl::StrAppend(&out, Labelled("steps", Grouped(watch.steps())), "\n");
  absl::StrAppend(&out, Labelled("checked", CheckedInWords(watch)), "\n");
  if (watch.muted() > 0) absl::StrAppend(&out, Labelled("muted", Grouped(watch.muted())), "\n");
  for (const CountedAlarm& alarm : watch.alarms()) out += AlarmText(alarm);
  const size_t notices = watch.notices().size();
  const size_t shown = text.verbose ? notices : std::min(notices, kNoticesShown);
  if (shown > 0) out += "\nnotices\n";
  for (size_t i = 0; i < shown; ++i) out += NoticeText(watch.notices()[i]);
  const int64_t hidden = static_cast<int64_t>(notices - shown) + watch.notices_left_out();
  if (hidden > 0) absl::StrAppend(&out, "  and ", Grouped(hidden), " more (-v shows them)\n");
  return out;
}

std::string JsonMonitorReport(const Watch& watch, const MonitorText& text) {
  const MonitorAnswer answer = AnswerOf(watch);
  OrderedJson json = {{"planproof_monitor", 1},       {"run", text.run},
                      {"answer", AnswerName(answer)}, {"exit_code", MonitorExitCode(answer)},
                      {"ranks", text.ranks},          {"world", text.world},
                      {"steps", watch.steps()},       {"muted", watch.muted()}};
  for (const Tier tier : kTiers) json["checked"][monitor::TierName(tier)] = watch.checked(tier);
  json["alarms"] = OrderedJson::array();
  for (const CountedAlarm& counted : watch.alarms()) {
    OrderedJson alarm = AlarmAsJson(counted.alarm);
    alarm["steps"] = counted.steps;
    alarm["last_step"] = counted.last_step;
    json["alarms"].push_back(std::move(alarm));
  }
  json["notices"] = OrderedJson::array();
  for (const Notice& notice : watch.notices()) json["notices"].push_back(NoticeAsJson(notice));
  return Dumped(json);
}

std::string JsonAlarmLine(const Alarm& alarm) { return Dumped({{"alarm", AlarmAsJson(alarm)}}); }

std::string JsonNoticeLine(const Notice& notice) {
  return Dumped({{"notice", NoticeAsJson(notice)}});
}

std::string HtmlMonitorReport(const Watch& watch, const MonitorText& text) {
  const std::string title = FirstLine(watch);
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<meta name=\"generator\" content=\"planproof ",
      MarkupText(Version()), "\">\n<title>", MarkupText(OneLine(title, 120)), "</title>\n<style>",
      PageStyle(), "</style>\n</head>\n<body>\n<header>\n<p class=\"brand\">planproof</p>\n<h1>",
      MarkupText(title), "</h1>\n<p class=\"files mono\">", MarkupText(text.run),
      "</p>\n</header>\n<main id=\"main\">\n<section><h2>Summary</h2>\n<p>", Grouped(watch.steps()),
      " steps of ", text.ranks, " of ", text.world,
      " ranks. Facts checked: ", MarkupText(CheckedInWords(watch)), ".</p></section>\n");
  if (!watch.alarms().empty()) {
    html +=
        "<section><h2>Alarms</h2>\n<table>\n<tr><th>Step</th><th>Tier</th><th>Rule</th>"
        "<th>Subject</th><th>Statement</th><th>Ranks</th><th>Place</th><th>Also</th></tr>\n";
    for (const CountedAlarm& counted : watch.alarms()) {
      const Alarm& alarm = counted.alarm;
      html += CellsOf({absl::StrCat(alarm.step), monitor::TierName(alarm.tier), alarm.rule,
                       alarm.subject, alarm.statement, TextOfRanks(alarm.ranks), alarm.place,
                       FirstOf(alarm.others, kOthersShown)});
    }
    html += "</table></section>\n";
  }
  if (!watch.notices().empty()) {
    html +=
        "<section><h2>Notices</h2>\n<table>\n<tr><th>Kind</th><th>Step</th><th>Subject</th>"
        "<th>Statement</th></tr>\n";
    for (const Notice& notice : watch.notices()) {
      html += CellsOf({NoticeName(notice.kind),
                       notice.step.has_value() ? absl::StrCat(*notice.step) : "", notice.subject,
                       notice.statement});
    }
    html += "</table></section>\n";
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace planproof::report
