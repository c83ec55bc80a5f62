// Package evidence writes the part of a capture that proves findings, so that it can be handed on without the rest.
//
// In: the findings of a scan, and the captures again, as a source that reads from the start. Out: one pcapng file whose packet
// comments say what each frame proves.
//
//	p := evidence.NewPlan(findings, options)
//	err := p.Read(source)                             // marks the messages that matter
//	err = p.Write(w, again, evidence.Messages)        // frames as they were
//	err = p.WriteRedacted(w, again, evidence.Messages, evidence.RedactAll)
//
// # How much is enough
//
// A verdict rests on more than the frames that a report names: what was acknowledged around an offset gap, high watermarks, that
// nothing was hidden. So the smallest selection is tried first, the caller scans what was written, and Difference compares the
// findings; a wider Selection follows until there is none. That the evidence gives the same findings is thus tested, not argued.
//
// # Redaction
//
// A redacted file is written anew, message by message: kept messages are decoded, their contents replaced (pseudonym.go), encoded,
// and cut into TCP segments at the times of the frames they came from. Lost bytes, acknowledgements and the ends of connections
// are told as they were. A message that cannot be decoded is not written, or as far as its length and correlation id. Link layer,
// tunnels, options and bytes between messages never reach the file, nor do any bytes of SASL.
//
// # Bytes, memory, goroutines
//
// Frames are copied while they are read. A redacted file is put in order in memory; Options.Memory bounds it. A Plan is for one
// goroutine. The package prints nothing, opens no files, and does not decrypt. With Options.Decrypt a redacted file holds the
// plaintext of TLS; without, it leaves TLS out. Frames are copied as they are, encrypted.
package evidence
