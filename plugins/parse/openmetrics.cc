// The text formats of Prometheus (0.0.4) and OpenMetrics (1.0): samples with labels, timestamps and
// exemplars.
#include <map>

#include "plugins/parse/json_documents.h"
#include "plugins/parse/number.h"
#include "plugins/parse/reader_functions.h"

namespace fleetmark::parse {
namespace {

bool IsNameByte(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (!first && c >= '0' && c <= '9');
}

std::string_view TakeName(std::string_view* rest) {
  size_t end = 0;
  while (end < rest->size() && IsNameByte((*rest)[end], end == 0)) ++end;
  const std::string_view name = rest->substr(0, end);
  rest->remove_prefix(end);
  return name;
}

// The text in quotes, with \\, \" and \n resolved. Nothing if it does not end.
std::optional<std::string> TakeQuoted(std::string_view* rest) {
  std::string text;
  for (size_t i = 1; i < rest->size(); ++i) {
    const char c = (*rest)[i];
    if (c == '"') {
      rest->remove_prefix(i + 1);
      return text;
    }
    if (c == '\\' && i + 1 < rest->size()) {
      ++i;
      text += (*rest)[i] == 'n' ? '\n' : (*rest)[i];
    } else {
      text += c;
    }
  }
  return std::nullopt;
}

// {a="b",c="d",}. False if it is malformed.
bool TakeLabels(std::string_view* rest, Labels* labels) {
  rest->remove_prefix(1);
  while (true) {
    *rest = Trim(*rest);
    if (rest->starts_with("}")) break;
    const std::string_view name = TakeName(rest);
    *rest = Trim(*rest);
    if (name.empty() || !rest->starts_with("=")) return false;
    *rest = Trim(rest->substr(1));
    if (!rest->starts_with("\"")) return false;
    const auto value = TakeQuoted(rest);
    if (!value || labels->contains(std::string(name))) return false;
    (*labels)[std::string(name)] = *value;
    *rest = Trim(*rest);
    if (rest->starts_with(",")) {
      rest->remove_prefix(1);
    } else if (!rest->starts_with("}")) {
      return false;
    }
  }
  rest->remove_prefix(1);
  return true;
}

class ExpositionReader {
 public:
  ExpositionReader(const Options& options, Report& report) : report_(report) {
    if (const Json* better = ObjectIn(options, "better"); better != nullptr) {
      for (const auto& item : better->items()) {
        if (item.value().is_string()) better_[item.key()] = item.value().get<std::string>();
      }
    }
  }

  void Read() {
    for (const Line& line : report_.text().lines()) {
      const std::string_view text = Trim(line.text);
      if (text.empty()) continue;
      if (ended_) return report_.Invalid(line.number, "text after '# EOF'");
      if (text[0] == '#') {
        ReadComment(text);
      } else {
        ReadSample(line, text);
      }
    }
    if (is_openmetrics_ && !ended_) report_.Invalid(0, "the output is cut off: there is no '# EOF'");
  }

 private:
  void ReadComment(std::string_view text) {
    const auto words = Words(text);
    if (text == "# EOF") ended_ = true;
    if (words.size() < 3) return;
    if (words[1] == "TYPE" && words.size() > 3) types_[std::string(words[2])] = std::string(words[3]);
    if (words[1] == "UNIT") is_openmetrics_ = true;
    if (words[1] == "UNIT" && words.size() > 3) units_[std::string(words[2])] = std::string(words[3]);
  }

  // name[{labels}] value [timestamp] [# {labels} exemplar ...]
  void ReadSample(const Line& line, std::string_view text) {
    std::string_view rest = text;
    const std::string name(TakeName(&rest));
    Labels labels;
    if (rest.starts_with(" ")) rest = Trim(rest);
    if (name.empty() || (rest.starts_with("{") && !TakeLabels(&rest, &labels))) {
      return report_.Invalid(line.number, "not a sample of this format");
    }
    if (const size_t exemplar = rest.find(" # {"); exemplar != std::string_view::npos)
      rest = rest.substr(0, exemplar);
    const auto words = Words(rest);
    if (words.empty() || words.size() > 2 || (words.size() == 2 && !FiniteNumber(words[1]))) {
      return report_.Invalid(line.number, "not one value, with a time or without");
    }
    const std::string family = Family(name);
    const std::string& type = types_[family];
    if (type == "info" || type == "stateset" || name.ends_with("_created")) return;
    const UnitSpelling unit = UnitOf(name, family);
    report_.AddText({name, unit.unit, BetterOf(name), unit.scale}, words[0], labels, line.number);
  }

  // The name without what the type adds to it.
  std::string Family(const std::string& name) const {
    if (types_.contains(name) || units_.contains(name)) return name;
    for (const std::string_view suffix : {"_total", "_bucket", "_sum", "_count", "_info", "_created"}) {
      if (!name.ends_with(suffix)) continue;
      const std::string family = name.substr(0, name.size() - suffix.size());
      if (types_.contains(family) || units_.contains(family)) return family;
    }
    return name;
  }

  // The base units of the format's conventions, by `# UNIT` or by the end of the name.
  UnitSpelling UnitOf(const std::string& name, const std::string& family) const {
    if (name.ends_with("_bucket") || (name.ends_with("_count") && name != family)) return {"count"};
    const auto stated = units_.find(family);
    if (stated != units_.end()) return FindUnit(stated->second).value_or(UnitSpelling{"1"});
    std::string_view base = name;
    for (const std::string_view suffix : {"_total", "_sum"}) {
      if (base.ends_with(suffix)) base.remove_suffix(suffix.size());
    }
    static constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
        {"_seconds", "s"},
        {"_milliseconds", "ms"},
        {"_microseconds", "us"},
        {"_nanoseconds", "ns"},
        {"_bytes_per_second", "B/s"},
        {"_bytes", "B"},
        {"_ratio", "1"},
        {"_percent", "%"},
        {"_celsius", "Cel"},
        {"_watts", "W"},
        {"_joules", "J"},
        {"_volts", "V"},
        {"_hertz", "Hz"}};
    for (const auto& [suffix, unit] : kSuffixes) {
      if (base.ends_with(suffix)) return {unit};
    }
    return {"1"};
  }

  std::string_view BetterOf(const std::string& name) const {
    const auto found = better_.find(name);
    return found == better_.end() ? std::string_view("none") : std::string_view(found->second);
  }

  Report& report_;
  std::map<std::string, std::string> better_;
  std::map<std::string, std::string> types_;
  std::map<std::string, std::string> units_;
  bool is_openmetrics_ = false;
  bool ended_ = false;
};

}  // namespace

void ReadOpenMetrics(const Options& options, Report& report) { ExpositionReader(options, report).Read(); }

}  // namespace fleetmark::parse
