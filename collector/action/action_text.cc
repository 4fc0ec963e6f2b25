#include "collector/action/action_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "common/base/ulid.h"

namespace fleetmark::collector {
namespace {

constexpr size_t kTitleBytes = 150;
constexpr std::string_view kNotTaken = "[]=\"'\\|`$;,@";

}  // namespace

std::string PlainText(std::string_view text, size_t max_bytes) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        absl::ascii_isprint(static_cast<unsigned char>(c)) && kNotTaken.find(c) == kNotTaken.npos;
    const char next = plain ? c : ' ';
    if (next == ' ' && (out.empty() || out.back() == ' ')) continue;
    out.push_back(next);
  }
  out.resize(std::min(out.size(), max_bytes));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

void NameAction(const v1::Alert& alert, absl::Time now, v1::Action* action) {
  action->set_action_id(NewUlid(now));
  action->set_reason(absl::StrCat("fleetmark ", action->action_id(), ": ",
                                  PlainText(alert.title(), kTitleBytes), "; finding ",
                                  alert.main().finding_id()));
}

}  // namespace fleetmark::collector
