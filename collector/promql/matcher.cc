#include "collector/promql/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "common/base/status.h"

namespace fleetmark::collector::promql {
namespace {

constexpr int64_t kRegexMemoryBytes = 4 << 20;

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<std::shared_ptr<const re2::RE2>> Compile(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemoryBytes);
  auto regex = std::make_shared<const re2::RE2>(absl::StrCat("(?:", pattern, ")"), options);
  if (!regex->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("error parsing regexp: ", regex->error()));
  }
  return std::shared_ptr<const re2::RE2>(std::move(regex));
}

std::string_view OpText(Matcher::Op op) {
  switch (op) {
    case Matcher::Op::kEqual:
      return "=";
    case Matcher::Op::kNotEqual:
      return "!=";
    case Matcher::Op::kRegex:
      return "=~";
    case Matcher::Op::kNotRegex:
      return "!~";
  }
  return "";
}

bool IsNameByte(char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// Takes the name after a '$' off the front of `rest`; empty when there is none, as in "$$" or "$.".
std::string TakeGroupName(std::string_view* rest) {
  const bool braces = rest->starts_with('{');
  std::string_view text = braces ? rest->substr(1) : *rest;
  const auto end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsNameByte) - text.begin());
  if (end == 0 || (braces && (end == text.size() || text[end] != '}'))) return {};
  rest->remove_prefix(end + (braces ? 2 : 0));
  return std::string(text.substr(0, end));
}

}  // namespace

absl::StatusOr<Matcher> Matcher::Create(Op op, std::string name, std::string value) {
  Matcher matcher(op, std::move(name), std::move(value));
  if (op == Op::kRegex || op == Op::kNotRegex) {
    FM_ASSIGN_OR_RETURN(matcher.regex_, Compile(matcher.value_));
  }
  return matcher;
}

bool Matcher::Matches(std::string_view value) const {
  switch (op_) {
    case Op::kEqual:
      return value == value_;
    case Op::kNotEqual:
      return value != value_;
    case Op::kRegex:
      return re2::RE2::FullMatch(Piece(value), *regex_);
    case Op::kNotRegex:
      return !re2::RE2::FullMatch(Piece(value), *regex_);
  }
  return false;
}

std::string Matcher::ToString() const { return absl::StrCat(name_, OpText(op_).data(), Quoted(value_)); }

bool MatchesAll(const Matchers& matchers, const LabelSet& labels) {
  return std::all_of(matchers.begin(), matchers.end(),
                     [&labels](const Matcher& matcher) { return matcher.Matches(labels); });
}

absl::StatusOr<Rewriter> Rewriter::Create(const std::string& pattern, std::string replacement) {
  Rewriter rewriter;
  FM_ASSIGN_OR_RETURN(rewriter.regex_, Compile(pattern));
  rewriter.replacement_ = std::move(replacement);
  return rewriter;
}

bool Rewriter::Rewrite(std::string_view text, std::string* out) const {
  std::vector<re2::StringPiece> groups(static_cast<size_t>(regex_->NumberOfCapturingGroups()) + 1);
  if (!regex_->Match(Piece(text), 0, text.size(), re2::RE2::ANCHOR_BOTH, groups.data(),
                     static_cast<int>(groups.size()))) {
    return false;
  }
  out->clear();
  std::string_view rest = replacement_;
  while (!rest.empty()) {
    if (rest[0] != '$') {
      const size_t plain = std::min(rest.find('$'), rest.size());
      out->append(rest.substr(0, plain));
      rest.remove_prefix(plain);
      continue;
    }
    rest.remove_prefix(1);
    if (rest.starts_with('$')) {
      out->push_back('$');
      rest.remove_prefix(1);
      continue;
    }
    const std::string name = TakeGroupName(&rest);
    if (name.empty()) {
      out->push_back('$');  // Go leaves a malformed reference as it is
      continue;
    }
    size_t index = 0;
    if (!absl::SimpleAtoi(name, &index)) {
      const auto& named = regex_->NamedCapturingGroups();
      const auto it = named.find(name);
      index = it == named.end() ? groups.size() : static_cast<size_t>(it->second);
    }
    if (index < groups.size()) out->append(groups[index].data(), groups[index].size());
  }
  return true;
}

}  // namespace fleetmark::collector::promql
