#include "common/tls/authority.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "common/base/status.h"
#include "common/tls/key_request.h"
#include "common/tls/openssl_types.h"

namespace fleetmark {
namespace {

using openssl::Deleter;
using openssl::Error;
using openssl::Key;
using openssl::X509Ptr;

using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, Deleter<ASN1_INTEGER_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, Deleter<ASN1_TIME_free>>;

TimePtr ToAsn1(absl::Time time) { return TimePtr(ASN1_TIME_set(nullptr, absl::ToTimeT(time))); }

// Positive, at most 20 bytes, unpredictable (RFC 5280 §4.1.2.2).
absl::StatusOr<Integer> NewSerial() {
  Number number(BN_new());
  if (BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1) return Error("serial number");
  return Integer(BN_to_ASN1_INTEGER(number.get(), nullptr));
}

absl::Status AddExtension(X509* x509, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(x509, extension.get(), -1) != 1) return Error("extension");
  return absl::OkStatus();
}

// Names come from outside, and OpenSSL's textual form of this extension has a syntax of its own: built by
// hand.
absl::Status AddAlternativeName(GENERAL_NAMES* names, int type, std::string_view value) {
  std::unique_ptr<GENERAL_NAME, Deleter<GENERAL_NAME_free>> name(GENERAL_NAME_new());
  std::unique_ptr<ASN1_STRING, Deleter<ASN1_STRING_free>> text(
      ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING));
  if (ASN1_STRING_set(text.get(), value.data(), static_cast<int>(value.size())) != 1) return Error("name");
  GENERAL_NAME_set0_value(name.get(), type, text.release());
  if (sk_GENERAL_NAME_push(names, name.get()) <= 0) return Error("name");
  name.release();
  return absl::OkStatus();
}

struct Profile {
  std::string common_name;
  std::vector<std::pair<int, std::string>> alternative_names;  // type, value
  std::vector<std::pair<int, std::string>> extensions;         // NID, OpenSSL's text of it
};

absl::Status AddAlternativeNames(X509* x509, const Profile& profile) {
  if (profile.alternative_names.empty()) return absl::OkStatus();
  const std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>> names(GENERAL_NAMES_new());
  for (const auto& [type, value] : profile.alternative_names) {
    FM_RETURN_IF_ERROR(AddAlternativeName(names.get(), type, value));
  }
  if (X509_add1_ext_i2d(x509, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return Error("alternative names");
  }
  return absl::OkStatus();
}

// `issuer` null: signs itself.
absl::StatusOr<std::string> Sign(const Profile& profile, EVP_PKEY* subject_key, X509* issuer,
                                 EVP_PKEY* issuer_key, Validity validity) {
  const X509Ptr x509(X509_new());
  FM_ASSIGN_OR_RETURN(const Integer serial, NewSerial());
  X509_NAME* subject = X509_get_subject_name(x509.get());
  const bool made =
      X509_set_version(x509.get(), 2) == 1 && X509_set_serialNumber(x509.get(), serial.get()) == 1 &&
      X509_set1_notBefore(x509.get(), ToAsn1(validity.from).get()) == 1 &&
      X509_set1_notAfter(x509.get(), ToAsn1(validity.until).get()) == 1 &&
      X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(profile.common_name.data()),
                                 static_cast<int>(profile.common_name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(x509.get(), issuer == nullptr ? subject : X509_get_subject_name(issuer)) == 1 &&
      X509_set_pubkey(x509.get(), subject_key) == 1;
  if (!made) return Error("make a certificate");
  X509* signer = issuer == nullptr ? x509.get() : issuer;
  for (const auto& [nid, value] : profile.extensions) {
    FM_RETURN_IF_ERROR(AddExtension(x509.get(), signer, nid, value));
  }
  FM_RETURN_IF_ERROR(AddAlternativeNames(x509.get(), profile));
  if (X509_sign(x509.get(), issuer_key, EVP_sha256()) <= 0) return Error("sign a certificate");
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), x509.get()) != 1) return Error("write a certificate");
  return openssl::Content(bio.get());
}

absl::StatusOr<std::string> SignBy(const Signer& signer, const Profile& profile, EVP_PKEY* subject_key,
                                   Validity validity) {
  FM_ASSIGN_OR_RETURN(const X509Ptr issuer, openssl::ParseCertificate(signer.certificate_pem));
  FM_ASSIGN_OR_RETURN(const Key key, openssl::ParseKey(signer.key_pem));
  if (X509_check_private_key(issuer.get(), key.get()) != 1) return Error("the authority's key is another's");
  return Sign(profile, subject_key, issuer.get(), key.get(), validity);
}

Profile EndProfile(std::string_view common_name, const char* usage) {
  Profile profile;
  profile.common_name = std::string(common_name.substr(0, 64));  // its upper bound in X.509
  profile.extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                        {NID_key_usage, "critical,digitalSignature"},
                        {NID_ext_key_usage, usage},
                        {NID_subject_key_identifier, "hash"},
                        {NID_authority_key_identifier, "keyid:always"}};
  return profile;
}

absl::Status AddRevoked(X509_CRL* crl, const Revoked& revoked) {
  BIGNUM* raw = nullptr;
  if (BN_hex2bn(&raw, revoked.serial.c_str()) == 0)
    return Error(absl::StrCat("serial '", revoked.serial, "'"));
  const Number number(raw);
  const Integer serial(BN_to_ASN1_INTEGER(number.get(), nullptr));
  std::unique_ptr<X509_REVOKED, Deleter<X509_REVOKED_free>> entry(X509_REVOKED_new());
  if (X509_REVOKED_set_serialNumber(entry.get(), serial.get()) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), ToAsn1(revoked.when).get()) != 1 ||
      X509_CRL_add0_revoked(crl, entry.get()) != 1) {
    return Error("revoked certificate");
  }
  entry.release();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Signer> MakeAuthority(std::string_view name, Validity validity) {
  Signer out;
  FM_ASSIGN_OR_RETURN(out.key_pem, MakeKey());
  FM_ASSIGN_OR_RETURN(const Key key, openssl::ParseKey(out.key_pem));
  Profile profile;
  profile.common_name = std::string(name);
  profile.extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                        {NID_key_usage, "critical,keyCertSign,cRLSign"},
                        {NID_subject_key_identifier, "hash"}};
  FM_ASSIGN_OR_RETURN(out.certificate_pem, Sign(profile, key.get(), nullptr, key.get(), validity));
  return out;
}

absl::StatusOr<std::string> SignNode(const Signer& signer, std::string_view request_pem,
                                     std::string_view node, Validity validity) {
  const openssl::Bio bio = openssl::ReadBio(request_pem);
  const openssl::RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (request == nullptr) return Error("no request for a certificate in PEM");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || X509_REQ_verify(request.get(), key) != 1) {
    return Error("the request is not signed by its own key");
  }
  // Weaker keys than TLS would take from anybody else are not certified either.
  if (EVP_PKEY_get_security_bits(key) < 112) {
    return absl::InvalidArgumentError("the key of the request is too weak");
  }
  Profile profile = EndProfile(node, "clientAuth");
  profile.alternative_names = {{GEN_URI, absl::StrCat(kNodeUriPrefix, std::string(node))}};
  return SignBy(signer, profile, key, validity);
}

absl::StatusOr<std::string> SignServer(const Signer& signer, std::string_view key_pem,
                                       const std::vector<std::string>& names, Validity validity) {
  if (names.empty()) return absl::InvalidArgumentError("a server's certificate needs a name");
  FM_ASSIGN_OR_RETURN(const Key key, openssl::ParseKey(key_pem));
  Profile profile = EndProfile(names.front(), "serverAuth");
  for (const std::string& name : names) {
    char address[16];
    if (inet_pton(AF_INET, name.c_str(), address) == 1) {
      profile.alternative_names.emplace_back(GEN_IPADD, std::string(address, 4));
    } else if (inet_pton(AF_INET6, name.c_str(), address) == 1) {
      profile.alternative_names.emplace_back(GEN_IPADD, std::string(address, 16));
    } else {
      profile.alternative_names.emplace_back(GEN_DNS, name);
    }
  }
  return SignBy(signer, profile, key.get(), validity);
}

absl::StatusOr<std::string> SignRevocations(const Signer& signer, const std::vector<Revoked>& revoked,
                                            Validity validity) {
  FM_ASSIGN_OR_RETURN(const X509Ptr issuer, openssl::ParseCertificate(signer.certificate_pem));
  FM_ASSIGN_OR_RETURN(const Key key, openssl::ParseKey(signer.key_pem));
  const openssl::CrlPtr crl(X509_CRL_new());
  if (X509_CRL_set_version(crl.get(), 1) != 1 ||
      X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())) != 1 ||
      X509_CRL_set1_lastUpdate(crl.get(), ToAsn1(validity.from).get()) != 1 ||
      X509_CRL_set1_nextUpdate(crl.get(), ToAsn1(validity.until).get()) != 1) {
    return Error("make a revocation list");
  }
  for (const Revoked& entry : revoked) FM_RETURN_IF_ERROR(AddRevoked(crl.get(), entry));
  X509_CRL_sort(crl.get());
  if (X509_CRL_sign(crl.get(), key.get(), EVP_sha256()) <= 0) return Error("sign a revocation list");
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_CRL(bio.get(), crl.get()) != 1) return Error("write a revocation list");
  return openssl::Content(bio.get());
}

}  // namespace fleetmark
