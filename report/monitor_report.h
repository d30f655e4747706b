// Writes what monitors found out about a training run: as text, JSON and one page of HTML.
#ifndef PLANPROOF_REPORT_MONITOR_REPORT_H_
#define PLANPROOF_REPORT_MONITOR_REPORT_H_

#include <cstdint>
#include <string>

#include "monitor/watch.h"

namespace planproof::report {

// What a report says besides alarms and notices.
struct MonitorText {
  std::string run;  // as the user named it
  int ranks = 0;
  int world = 1;
  bool verbose = false;  // all notices
};

enum class MonitorAnswer : uint8_t { kNoAlarm, kAlarm, kNothingChecked };
MonitorAnswer AnswerOf(const monitor::Watch& watch);
// 0, 1, 3.
int MonitorExitCode(MonitorAnswer answer);

// Several lines, the first of which is the answer.
std::string TextMonitorReport(const monitor::Watch& watch, const MonitorText& text);
// One object, on one line: keys are documented in docs/monitor.md.
std::string JsonMonitorReport(const monitor::Watch& watch, const MonitorText& text);
// {"alarm": {...}} and {"notice": {...}}, each on one line.
std::string JsonAlarmLine(const monitor::Alarm& alarm);
std::string JsonNoticeLine(const monitor::Notice& notice);
std::string HtmlMonitorReport(const monitor::Watch& watch, const MonitorText& text);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_MONITOR_REPORT_H_
