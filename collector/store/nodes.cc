#include "collector/store/nodes.h"

#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/store/keys.h"
#include "collector/store/listing.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

using LabelMap = google::protobuf::Map<std::string, std::string>;

absl::StatusOr<v1::Node> ParseNode(std::string_view value) {
  v1::Node node;
  FM_RETURN_IF_ERROR(DecodeMessage(value, &node));
  return node;
}

// What is known of a node by what is stored of it. One for a whole listing: opening its cursors costs more
// than what is read with them.
class Derived {
 public:
  explicit Derived(const Database& db)
      : runs_(db.NewCursor(Family::kRuns)), findings_(db.NewCursor(Family::kOpenFindings)) {}

  absl::Status AddTo(v1::Node* node) {
    const std::string prefix = NodePrefix(node->identity().name());
    runs_.SeekBefore(PrefixEnd(prefix));
    if (runs_.Valid() && runs_.key().starts_with(prefix)) {
      const auto key = ParseTimeKey(runs_.key().substr(prefix.size()));
      if (!key.has_value()) return absl::DataLossError("a stored run's key is malformed");
      node->set_last_run_unix_ns(key->time_unix_ns);
    }
    FM_RETURN_IF_ERROR(runs_.status());
    uint64_t open_findings = 0;
    for (findings_.Seek(prefix); findings_.Valid() && findings_.key().starts_with(prefix); findings_.Next()) {
      ++open_findings;
    }
    node->set_open_findings(open_findings);
    return findings_.status();
  }

 private:
  Cursor runs_;
  Cursor findings_;
};

}  // namespace

absl::StatusOr<std::optional<v1::Node>> FindNode(const Database& db, const std::string& name) {
  FM_ASSIGN_OR_RETURN(const std::optional<std::string> value, db.Get(Family::kNodes, name));
  if (!value.has_value()) return std::nullopt;
  FM_ASSIGN_OR_RETURN(v1::Node node, ParseNode(*value));
  return node;
}

void PutNode(const v1::Node& node, bool is_new, WriteSet* writes, Counters* counters) {
  writes->Put(Family::kNodes, node.identity().name(), EncodeMessage(node));
  if (is_new) ++counters->nodes;
}

absl::StatusOr<v1::Node> ReadNode(const Database& db, const std::string& name) {
  FM_ASSIGN_OR_RETURN(std::optional<v1::Node> node, FindNode(db, name));
  if (!node.has_value()) return absl::NotFoundError(absl::StrCat("node '", name, "' is not known"));
  FM_RETURN_IF_ERROR(Derived(db).AddTo(&*node));
  return *std::move(node);
}

absl::StatusOr<std::vector<v1::Node>> ListNodes(const Database& db, const Page& page,
                                                std::string* next_token) {
  Derived derived(db);
  return ListPage<v1::Node>(
      db, Family::kNodes, KeyRange{}, page, next_token,
      [&derived](std::string_view, std::string_view value) -> absl::StatusOr<std::optional<v1::Node>> {
        FM_ASSIGN_OR_RETURN(v1::Node node, ParseNode(value));
        FM_RETURN_IF_ERROR(derived.AddTo(&node));
        return node;
      });
}

absl::StatusOr<SeriesMatcher> SeriesMatcher::Make(const Database& db, const v1::Selector& selector) {
  SeriesMatcher matcher(selector);
  if (selector.node_labels().empty()) return matcher;
  Cursor cursor = db.NewCursor(Family::kNodes);
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    FM_ASSIGN_OR_RETURN(const v1::Node node, ParseNode(cursor.value()));
    if (HasLabels(node.identity().labels(), selector.node_labels())) {
      matcher.nodes_.insert(node.identity().name());
    }
  }
  FM_RETURN_IF_ERROR(cursor.status());
  return matcher;
}

bool SeriesMatcher::Matches(const v1::SeriesKey& key) const {
  const v1::Selector& want = selector_;
  return (want.node().empty() || want.node() == key.node()) &&
         (want.benchmark().empty() || want.benchmark() == key.benchmark()) &&
         (want.metric().empty() || want.metric() == key.metric()) && HasLabels(key.labels(), want.labels()) &&
         (want.node_labels().empty() || nodes_.contains(key.node()));
}

}  // namespace fleetmark::collector
