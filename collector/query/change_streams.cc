#include "collector/query/change_streams.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "collector/query/http_json.h"
#include "collector/query/query_api.h"

namespace fleetmark::collector {

struct ChangeStreams::Stream {
  explicit Stream(std::shared_ptr<ChangeStreams> s) : streams(std::move(s)) {}
  ~Stream() {
    MutexLock lock(streams->mu_);
    --streams->open_;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::shared_ptr<ChangeStreams> streams;
  bool begun = false;
  std::string last;  // QueryApi::Version
  MonoTime written;
};

absl::StatusOr<HttpResponse> ChangeStreams::Open() {
  {
    MutexLock lock(mu_);
    if (ended_) return absl::UnavailableError("the collector is stopping");
    if (open_ >= options_.max_streams) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", options_.max_streams, " readers follow changes; ask from time to time"));
    }
    ++open_;
  }
  const auto stream = std::make_shared<Stream>(shared_from_this());
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers["Cache-Control"] = "no-store";
  response.headers["X-Accel-Buffering"] = "no";  // a proxy must not hold it back
  response.stream = [stream](const HttpResponse::Write& write) {
    return stream->streams->WriteNext(*stream, write);
  };
  return response;
}

void ChangeStreams::End() {
  MutexLock lock(mu_);
  ended_ = true;
  end_.NotifyAll();
}

bool ChangeStreams::Wait() {
  MutexLock lock(mu_);
  const MonoTime deadline = options_.clock->Mono() + options_.interval;
  while (!ended_ && options_.clock->WaitUntil(end_, mu_, deadline)) {
  }
  return !ended_;
}

bool ChangeStreams::WriteNext(Stream& stream, const HttpResponse::Write& write) {
  if (stream.begun && !Wait()) return false;
  stream.begun = true;
  const absl::StatusOr<std::string> now = options_.api->Version();
  if (!now.ok()) return false;
  const MonoTime mono = options_.clock->Mono();
  if (*now == stream.last) {
    if (mono - stream.written < options_.keep_alive) return true;
    stream.written = mono;
    return write(":\n\n");
  }
  stream.last = *now;
  stream.written = mono;
  const absl::StatusOr<v1::GetStatusResponse> status = options_.api->GetStatus({});
  if (!status.ok()) return false;
  const absl::StatusOr<std::string> json = ToJson(*status);  // ends its line
  return json.ok() && write(absl::StrCat("retry: 2000\nevent: status\ndata: ", *json, "\n"));
}

}  // namespace fleetmark::collector
