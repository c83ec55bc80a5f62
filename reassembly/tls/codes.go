package tls

import "github.com/kdupscan/kdupscan/pcap"

// Codes of the Decrypter. One of a connection that stays encrypted comes beside the "tls" of package kafka and says why.
const (
	// CodeDecrypted: a connection was decrypted. The detail names version, suite and server. Hides nothing.
	CodeDecrypted pcap.Code = "tls-decrypted"
	// CodeNoKey: a connection whose handshake was seen and whose keys are in no key log. All of it is hidden.
	CodeNoKey pcap.Code = "tls-no-key"
	// CodeKeyWrong: the keys that the key log has for a connection open none of its records. All of it is hidden.
	CodeKeyWrong pcap.Code = "tls-key-wrong"
	// CodeLateStart: a connection inside TLS whose handshake is not in the capture, or not whole. Which keys it has cannot
	// be known, so all of it is hidden.
	CodeLateStart pcap.Code = "tls-late-start"
	// CodeUnsupported: a version or cipher suite that is not decrypted. All of the connection is hidden.
	CodeUnsupported pcap.Code = "tls-unsupported"
	// CodeRecordLost: a record of which bytes are missing, or several of them. What was in them is hidden, as a gap.
	CodeRecordLost pcap.Code = "tls-record-lost"
	// CodeRecordBad: a record that no key opens although none of it is missing. What was in it is hidden, as a gap.
	CodeRecordBad pcap.Code = "tls-record-bad"
	// CodeBroken: bytes that are no TLS records, where records should be. They are hidden, as a gap.
	CodeBroken pcap.Code = "tls-out-of-step"
	// CodeBufferLimit: a connection or record was given up to keep memory bounded. It is hidden.
	CodeBufferLimit pcap.Code = "tls-buffer-limit"
	// CodeKeyLogLine: a line of a key log that is no key. A connection may lack its keys because of it.
	CodeKeyLogLine pcap.Code = "tls-key-log-line"
	// CodeKeysFull: keys beyond the bound on sessions were not kept. Their connections are hidden.
	CodeKeysFull pcap.Code = "tls-keys-full"
)
