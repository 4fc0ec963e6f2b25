#include "collector/query/prometheus_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "collector/promql/number_text.h"
#include "common/base/quote_json.h"
#include "common/base/status.h"
#include "common/model/labels.h"

namespace fleetmark::collector {
namespace {

struct ErrorForm {
  const char* type;
  int http_status;
};

ErrorForm FormOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return {"bad_data", 400};
    case absl::StatusCode::kNotFound:
      return {"not_found", 404};
    case absl::StatusCode::kDeadlineExceeded:
      return {"timeout", 503};
    case absl::StatusCode::kCancelled:
      return {"canceled", 503};
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return {"unavailable", 503};
    case absl::StatusCode::kFailedPrecondition:
      return {"execution", 422};
    default:
      return {"internal", 500};
  }
}

HttpResponse Json(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  response.headers["Cache-Control"] = "no-store";
  return response;
}

void AppendPoint(const promql::Point& point, std::string* out) {
  absl::StrAppend(out, "[", promql::SecondsText(point.time_ms), ",\"", promql::JsonNumber(point.value),
                  "\"]");
}

void AppendSeries(const promql::ResultSeries& series, bool matrix, std::string* out) {
  absl::StrAppend(out, "{\"metric\":", JsonLabels(*series.metric), matrix ? ",\"values\":[" : ",\"value\":");
  for (size_t i = 0; i < series.points.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendPoint(series.points[i], out);
  }
  out->append(matrix ? "]}" : "}");
}

}  // namespace

HttpResponse PrometheusSuccess(const std::string& data_json) {
  return Json(absl::StrCat("{\"status\":\"success\",\"data\":", data_json, "}"));
}

HttpResponse PrometheusError(const absl::Status& status) {
  const ErrorForm form = FormOf(status.code());
  HttpResponse response = Json(absl::StrCat("{\"status\":\"error\",\"errorType\":\"", form.type,
                                            "\",\"error\":", JsonString(Message(status)), "}"));
  response.status = form.http_status;
  return response;
}

std::string JsonString(std::string_view text) {
  bool repaired = false;
  return QuoteJson(RepairUtf8(text, &repaired));
}

std::string JsonLabels(const promql::LabelSet& labels) {
  std::string out = "{";
  for (const promql::Label& label : labels) {
    absl::StrAppend(&out, out.size() > 1 ? "," : "", JsonString(label.name), ":", JsonString(label.value));
  }
  return out + "}";
}

std::string JsonArray(const std::vector<std::string>& elements) {
  return absl::StrCat("[", absl::StrJoin(elements, ","), "]");
}

std::string JsonResult(const promql::QueryResult& result) {
  using promql::ValueType;
  std::string out;
  switch (result.type) {
    case ValueType::kScalar:
      out = "{\"resultType\":\"scalar\",\"result\":";
      AppendPoint(result.scalar, &out);
      return out + "}";
    case ValueType::kString:
      return absl::StrCat("{\"resultType\":\"string\",\"result\":[",
                          promql::SecondsText(result.scalar.time_ms), ",", JsonString(result.text), "]}");
    case ValueType::kVector:
    case ValueType::kMatrix:
      break;
  }
  const bool matrix = result.type == ValueType::kMatrix;
  out = absl::StrCat("{\"resultType\":\"", matrix ? "matrix" : "vector", "\",\"result\":[");
  for (size_t i = 0; i < result.series.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendSeries(result.series[i], matrix, &out);
  }
  return out + "]}";
}

}  // namespace fleetmark::collector
