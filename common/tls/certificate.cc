#include "common/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/tls/openssl_types.h"

namespace fleetmark {
namespace {

using openssl::Deleter;
using openssl::Error;
using openssl::X509Ptr;

constexpr size_t kMaxCertificates = 1000;  // in one text

using GeneralNames = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return Error("certificate: time");
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::StatusOr<std::string> Text(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return Error("certificate: name");
  const std::string out(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  if (out.find('\0') != std::string::npos) return absl::InvalidArgumentError("certificate: NUL in a name");
  return out;
}

absl::Status ReadCommonName(X509* x509, std::string* out) {
  const X509_NAME* subject = X509_get_subject_name(x509);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(*out, Text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  return absl::OkStatus();
}

absl::Status ReadAlternativeNames(X509* x509, Certificate* out) {
  const GeneralNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x509, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return absl::OkStatus();
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      FM_ASSIGN_OR_RETURN(std::string text, Text(name->d.dNSName));
      out->dns_names.push_back(std::move(text));
    } else if (name->type == GEN_URI) {
      FM_ASSIGN_OR_RETURN(std::string text, Text(name->d.uniformResourceIdentifier));
      out->uris.push_back(std::move(text));
    }
  }
  return absl::OkStatus();
}

std::string Serial(const X509* x509) {
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nullptr));
  char* hex = number == nullptr ? nullptr : BN_bn2hex(number.get());
  std::string out = hex == nullptr ? "" : absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  return out;
}

std::string Fingerprint(X509* x509) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(x509, &der);
  if (size < 0) return "";
  const std::string digest =
      Sha256Hex(std::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

absl::StatusOr<Certificate> Describe(X509* x509) {
  Certificate out;
  FM_RETURN_IF_ERROR(ReadCommonName(x509, &out.common_name));
  FM_RETURN_IF_ERROR(ReadAlternativeNames(x509, &out));
  FM_ASSIGN_OR_RETURN(out.not_before, ToTime(X509_get0_notBefore(x509)));
  FM_ASSIGN_OR_RETURN(out.not_after, ToTime(X509_get0_notAfter(x509)));
  out.serial = Serial(x509);
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_issuer_name(x509), 0, XN_FLAG_RFC2253);
  out.issuer = openssl::Content(bio.get());
  out.fingerprint = Fingerprint(x509);
  return out;
}

absl::StatusOr<std::vector<X509Ptr>> ParseAll(std::string_view pem) {
  const openssl::Bio bio = openssl::ReadBio(pem);
  std::vector<X509Ptr> out;
  while (out.size() < kMaxCertificates) {
    X509Ptr next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    out.push_back(std::move(next));
  }
  // The end of the text is an error in OpenSSL's eyes, "no start line".
  const unsigned long code = ERR_peek_last_error();
  if (code != 0 && ERR_GET_REASON(code) != PEM_R_NO_START_LINE) return Error("certificate in PEM");
  ERR_clear_error();
  if (out.empty()) return absl::InvalidArgumentError("no certificate in PEM");
  return out;
}

absl::Status Verify(X509_STORE_CTX* context, const std::string& host, absl::Time now) {
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context);
  X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
  // The pinned one is an anchor whether or not it signed itself.
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(parameters, absl::ToTimeT(now));
  unsigned char address[16];
  const bool is_address =
      inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
  const int named = is_address ? X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str())
                               : X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
  if (named != 1) return Error(absl::StrCat("host name '", host, "'"));
  if (X509_verify_cert(context) == 1) return absl::OkStatus();
  ERR_clear_error();
  return absl::PermissionDeniedError(absl::StrCat(
      "the server's certificate: ", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context))));
}

}  // namespace

absl::StatusOr<Certificate> ReadCertificate(std::string_view pem) {
  FM_ASSIGN_OR_RETURN(const X509Ptr x509, openssl::ParseCertificate(pem));
  return Describe(x509.get());
}

absl::StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem) {
  FM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> all, ParseAll(pem));
  std::vector<Certificate> out;
  for (const X509Ptr& x509 : all) {
    FM_ASSIGN_OR_RETURN(Certificate certificate, Describe(x509.get()));
    out.push_back(std::move(certificate));
  }
  return out;
}

absl::Status CheckPair(std::string_view certificate_pem, std::string_view key_pem) {
  FM_ASSIGN_OR_RETURN(const X509Ptr x509, openssl::ParseCertificate(certificate_pem));
  FM_ASSIGN_OR_RETURN(const openssl::Key key, openssl::ParseKey(key_pem));
  if (X509_check_private_key(x509.get(), key.get()) == 1) return absl::OkStatus();
  return Error("the key does not belong to the certificate");
}

absl::Status VerifyPinnedServer(std::string_view chain_pem, std::string_view pin, const std::string& host,
                                absl::Time now) {
  FM_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain, ParseAll(chain_pem));
  const auto anchor = std::find_if(chain.begin(), chain.end(),
                                   [pin](const X509Ptr& x509) { return Fingerprint(x509.get()) == pin; });
  if (anchor == chain.end()) {
    return absl::PermissionDeniedError("the server's certificate comes from another authority than expected");
  }
  const std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>> trusted(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  struct FreeShallow {
    void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
  };
  const std::unique_ptr<STACK_OF(X509), FreeShallow> others(sk_X509_new_null());
  for (const X509Ptr& x509 : chain) sk_X509_push(others.get(), x509.get());
  X509_STORE_add_cert(trusted.get(), anchor->get());
  if (X509_STORE_CTX_init(context.get(), trusted.get(), chain.front().get(), others.get()) != 1) {
    return Error("the server's certificate");
  }
  return Verify(context.get(), host, now);
}

}  // namespace fleetmark
