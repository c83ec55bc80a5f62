package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kdupscan": main})
}

// TestScripts runs testdata/script/*.txtar against the command itself: the test binary stands in for it. $CAPTURES is the
// project's folder of captures.
func TestScripts(t *testing.T) {
	captures, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("CAPTURES", captures)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  status,
			"capture": capture,
		},
	})
}

// status N COMMAND… runs a command and checks its exit status: status 3 kdupscan scan a.pcap
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	have := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		have = exit.ExitCode()
	}
	if have != want {
		ts.Fatalf("exit status %d, want %d", have, want)
	}
}

// capture NAME writes one of the captures below.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture name")
	}
	content, ok := captures[args[0]]
	if !ok {
		ts.Fatalf("no capture %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content), 0o666))
}

// pcapHeader is the header of a pcap file, little endian, version 2.4, snapshot length 262144, link type 1 (Ethernet).
const pcapHeader = "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00"

// arpFrame is an Ethernet header and nothing in it that is TCP.
const arpFrame = "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06"

// arpPacket is arpFrame as a packet of 1970-01-02 00:00:00.
const arpPacket = "\x80\x51\x01\x00\x00\x00\x00\x00\x0e\x00\x00\x00\x0e\x00\x00\x00" + arpFrame

var captures = map[string]string{
	"nothing.pcap":   pcapHeader + arpPacket,
	"torn.pcap":      pcapHeader + arpPacket + arpPacket[:20],
	"no-packet.pcap": pcapHeader,
}
