// Package tls decrypts TLS 1.2 and 1.3 connections whose session keys are known.
//
// It stands between reassembly and the reader of a protocol: a Decrypter takes the events of TCP connections and gives
// events of the same kind. A connection that is not TLS passes through untouched. Of a TLS connection with keys come the
// events of its plaintext: Data holds what one record carried, at offsets that count plaintext bytes, with the frame of
// the record's last byte; Gap stands for lost records, Ack for records that were acknowledged whole; Overlap events are
// dropped. A TLS connection without keys passes through as it is, with a note that says what was missing.
//
// Keys are those of key logs (the NSS key log format, as SSLKEYLOGFILE and pcapng Decryption Secrets Blocks have it).
// They may come after the packets that need them: a connection waits for its keys within the bounds of Limits. Secrets
// never enter notes or errors.
//
// Ownership: the Data of an event is borrowed, in and out. Conn.State belongs to the Decrypter; the receiver of its events
// finds there what it has put there itself.
//
// Goroutines: a Decrypter and a Keys are for one goroutine, but any number of Keys and Decrypters may read the same base
// Keys once nobody adds to it. There is no clock: what comes out depends on the events and on the order in which keys are
// added between them.
//
// What it does not do: certificates are not looked at and Finished messages are not checked; compression is not undone; the
// keys of a renegotiation are found by its own client random only; versions before 1.2 stay closed.
package tls
