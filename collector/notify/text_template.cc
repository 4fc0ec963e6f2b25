#include "collector/notify/text_template.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "collector/alert/alert_text.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

absl::Status Fault(const std::string& text, size_t at, const std::string& what) {
  const auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n') + 1;
  return absl::InvalidArgumentError(absl::StrCat("template, line ", line, ": ", what));
}

absl::Status CheckVariable(const std::string& text, size_t at, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [part, value] : MessageParts(v1::Notice(), absl::UnixEpoch())) known.push_back(part);
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  const std::string nearest = NearestName(name, known);
  return Fault(text, at,
               absl::StrCat("'", name, "' is no variable",
                            nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?")));
}

}  // namespace

absl::StatusOr<TextTemplate> TextTemplate::Parse(const std::string& text) {
  if (text.size() > kMaxBytes) return absl::InvalidArgumentError("template: longer than 16 KiB");
  TextTemplate out;
  out.whole_message_ = false;
  std::string only_if;
  size_t at = 0;
  while (true) {
    const size_t open = text.find("{{", at);
    if (open == std::string::npos) break;
    const size_t close = text.find("}}", open);
    if (close == std::string::npos) return Fault(text, open, "{{ without }}");
    std::string name(absl::StripAsciiWhitespace(text.substr(open + 2, close - open - 2)));
    Piece piece{text.substr(at, open - at), "", only_if};
    if (!name.empty() && name[0] == '?') {
      name.erase(0, 1);
      FM_RETURN_IF_ERROR(CheckVariable(text, open, name));
      if (!only_if.empty())
        return Fault(text, open, absl::StrCat("{{?", name, "}} within {{?", only_if, "}}"));
      only_if = name;
    } else if (!name.empty() && name[0] == '/') {
      name.erase(0, 1);
      if (name != only_if)
        return Fault(text, open, absl::StrCat("{{/", name, "}} ends nothing that was begun"));
      only_if.clear();
    } else {
      FM_RETURN_IF_ERROR(CheckVariable(text, open, name));
      piece.variable = name;
    }
    out.pieces_.push_back(std::move(piece));
    at = close + 2;
  }
  if (!only_if.empty()) return Fault(text, text.size(), absl::StrCat("{{?", only_if, "}} has no end"));
  out.pieces_.push_back({text.substr(at), "", ""});
  return out;
}

std::string TextTemplate::Render(const v1::Notice& notice, absl::Time now) const {
  if (whole_message_) return MessageText(notice, now);
  const std::map<std::string, std::string> parts = MessageParts(notice, now);
  std::string out;
  for (const Piece& piece : pieces_) {
    if (!piece.only_if.empty() && parts.at(piece.only_if).empty()) continue;
    out += piece.text;
    if (!piece.variable.empty()) out += parts.at(piece.variable);
  }
  return out;
}

}  // namespace fleetmark::collector
