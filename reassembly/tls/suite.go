package tls

import "crypto"

// mode is how a cipher suite protects records.
type mode uint8

const (
	cbc    mode = iota // AES-CBC and HMAC (RFC 5246, section 6.2.3.2)
	gcm                // RFC 5288
	ccm                // RFC 6655, a tag of 16 bytes
	ccm8               // with a tag of 8 bytes
	chacha             // ChaCha20-Poly1305 (RFC 7905)
)

// suite is a cipher suite.
type suite struct {
	name    string
	tls13   bool
	mode    mode
	keySize int
	hash    crypto.Hash // of the key schedule
	mac     crypto.Hash // of mode cbc
}

// suites are the cipher suites that can be decrypted (IANA registry "TLS Cipher Suites"). How the key was agreed on does
// not matter, since the key log has what came of it.
var suites = map[uint16]suite{
	0x1301: {"TLS_AES_128_GCM_SHA256", true, gcm, 16, crypto.SHA256, 0},
	0x1302: {"TLS_AES_256_GCM_SHA384", true, gcm, 32, crypto.SHA384, 0},
	0x1303: {"TLS_CHACHA20_POLY1305_SHA256", true, chacha, 32, crypto.SHA256, 0},
	0x1304: {"TLS_AES_128_CCM_SHA256", true, ccm, 16, crypto.SHA256, 0},
	0x1305: {"TLS_AES_128_CCM_8_SHA256", true, ccm8, 16, crypto.SHA256, 0},

	0x009c: {"TLS_RSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0x009d: {"TLS_RSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0x009e: {"TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0x009f: {"TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0x00a2: {"TLS_DHE_DSS_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0x00a3: {"TLS_DHE_DSS_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0xc02b: {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0xc02c: {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0xc02d: {"TLS_ECDH_ECDSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0xc02e: {"TLS_ECDH_ECDSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0xc02f: {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0xc030: {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},
	0xc031: {"TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", false, gcm, 16, crypto.SHA256, 0},
	0xc032: {"TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384", false, gcm, 32, crypto.SHA384, 0},

	0xcca8: {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", false, chacha, 32, crypto.SHA256, 0},
	0xcca9: {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", false, chacha, 32, crypto.SHA256, 0},
	0xccaa: {"TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", false, chacha, 32, crypto.SHA256, 0},

	0x002f: {"TLS_RSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0x0035: {"TLS_RSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0x003c: {"TLS_RSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0x003d: {"TLS_RSA_WITH_AES_256_CBC_SHA256", false, cbc, 32, crypto.SHA256, crypto.SHA256},
	0x0032: {"TLS_DHE_DSS_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0x0038: {"TLS_DHE_DSS_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0x0033: {"TLS_DHE_RSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0x0039: {"TLS_DHE_RSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0x0040: {"TLS_DHE_DSS_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0x006a: {"TLS_DHE_DSS_WITH_AES_256_CBC_SHA256", false, cbc, 32, crypto.SHA256, crypto.SHA256},
	0x0067: {"TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0x006b: {"TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", false, cbc, 32, crypto.SHA256, crypto.SHA256},
	0xc004: {"TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0xc005: {"TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0xc009: {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0xc00a: {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0xc00e: {"TLS_ECDH_RSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0xc00f: {"TLS_ECDH_RSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0xc013: {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", false, cbc, 16, crypto.SHA256, crypto.SHA1},
	0xc014: {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", false, cbc, 32, crypto.SHA256, crypto.SHA1},
	0xc023: {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0xc024: {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", false, cbc, 32, crypto.SHA384, crypto.SHA384},
	0xc025: {"TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0xc026: {"TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA384", false, cbc, 32, crypto.SHA384, crypto.SHA384},
	0xc027: {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0xc028: {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", false, cbc, 32, crypto.SHA384, crypto.SHA384},
	0xc029: {"TLS_ECDH_RSA_WITH_AES_128_CBC_SHA256", false, cbc, 16, crypto.SHA256, crypto.SHA256},
	0xc02a: {"TLS_ECDH_RSA_WITH_AES_256_CBC_SHA384", false, cbc, 32, crypto.SHA384, crypto.SHA384},

	0xc09c: {"TLS_RSA_WITH_AES_128_CCM", false, ccm, 16, crypto.SHA256, 0},
	0xc09d: {"TLS_RSA_WITH_AES_256_CCM", false, ccm, 32, crypto.SHA256, 0},
	0xc09e: {"TLS_DHE_RSA_WITH_AES_128_CCM", false, ccm, 16, crypto.SHA256, 0},
	0xc09f: {"TLS_DHE_RSA_WITH_AES_256_CCM", false, ccm, 32, crypto.SHA256, 0},
	0xc0a0: {"TLS_RSA_WITH_AES_128_CCM_8", false, ccm8, 16, crypto.SHA256, 0},
	0xc0a1: {"TLS_RSA_WITH_AES_256_CCM_8", false, ccm8, 32, crypto.SHA256, 0},
	0xc0a2: {"TLS_DHE_RSA_WITH_AES_128_CCM_8", false, ccm8, 16, crypto.SHA256, 0},
	0xc0a3: {"TLS_DHE_RSA_WITH_AES_256_CCM_8", false, ccm8, 32, crypto.SHA256, 0},
	0xc0ac: {"TLS_ECDHE_ECDSA_WITH_AES_128_CCM", false, ccm, 16, crypto.SHA256, 0},
	0xc0ad: {"TLS_ECDHE_ECDSA_WITH_AES_256_CCM", false, ccm, 32, crypto.SHA256, 0},
	0xc0ae: {"TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", false, ccm8, 16, crypto.SHA256, 0},
	0xc0af: {"TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8", false, ccm8, 32, crypto.SHA256, 0},
}
