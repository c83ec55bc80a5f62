package pcap_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
)

// TestWriterSecrets: secrets and the comment of the file do not disturb the packets, and secrets are read back as they were.
func TestWriterSecrets(t *testing.T) {
	frames, comments := written()
	secrets := []pcap.Secret{{Type: 0x544c534b, Data: []byte("CLIENT_RANDOM 00 11\n")}, {Type: 7, Data: []byte{1, 2, 3}}}
	var file bytes.Buffer
	w := pcap.NewWriter(&file, pcap.WriterOptions{Comment: "on the whole file"})
	for _, s := range secrets {
		if err := w.Secrets(s); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w, frames, comments)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Secrets(secrets[0]); err == nil {
		t.Error("secrets behind the end")
	}
	r, err := pcap.NewReader(&file, "a.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for f := new(pcap.Frame); ; n++ {
		if err := r.Next(f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	have := r.Captures()[0]
	if diff := cmp.Diff(secrets, have.Secrets); diff != "" || n != len(frames) || len(have.Damage) > 0 {
		t.Errorf("%d packets, damage %v, secrets (-want +have):\n%s", n, have.Damage, diff)
	}
}
