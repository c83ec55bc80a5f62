package kafka

import (
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
)

// The primitives are written with kbin, franz-go's own.
func TestReaderReadsWhatKbinWrites(t *testing.T) {
	var b []byte
	b = kbin.AppendInt8(b, -3)
	b = kbin.AppendInt16(b, math.MinInt16)
	b = kbin.AppendInt32(b, math.MinInt32)
	b = kbin.AppendUint32(b, math.MaxUint32)
	b = kbin.AppendInt64(b, math.MinInt64)
	r := reader{data: b}
	if r.int8("a") != -3 || r.int16("b") != math.MinInt16 || r.int32("c") != math.MinInt32 || r.uint32("d") != math.MaxUint32 || r.int64("e") != math.MinInt64 || r.err() != nil || r.remaining() != 0 {
		t.Errorf("fixed width: %+v", r)
	}
	for _, v := range []int32{0, 1, -1, 63, 64, -64, -65, 1 << 20, math.MaxInt32, math.MinInt32} {
		r := reader{data: kbin.AppendVarint(nil, v)}
		if got := r.varint("v"); got != v || r.err() != nil || r.remaining() != 0 {
			t.Errorf("varint %d read as %d, %v", v, got, r.err())
		}
		r = reader{data: kbin.AppendUvarint(nil, uint32(v))}
		if got := r.uvarint("v"); got != uint32(v) || r.err() != nil || r.remaining() != 0 {
			t.Errorf("uvarint %d read as %d, %v", uint32(v), got, r.err())
		}
	}
	for _, v := range []int64{0, -1, 1 << 40, math.MaxInt64, math.MinInt64} {
		r := reader{data: kbin.AppendVarlong(nil, v)}
		if got := r.varlong("v"); got != v || r.err() != nil || r.remaining() != 0 {
			t.Errorf("varlong %d read as %d, %v", v, got, r.err())
		}
	}
}

func TestReaderTellsNullFromEmpty(t *testing.T) {
	var b []byte
	b = kbin.AppendNullableBytes(b, nil)
	b = kbin.AppendNullableBytes(b, []byte{})
	b = kbin.AppendNullableBytes(b, []byte("x"))
	r := reader{data: b}
	if v := r.bytes("v"); v != nil {
		t.Errorf("null read as %q", v)
	}
	if v := r.bytes("v"); v == nil || len(v) != 0 {
		t.Errorf("empty read as %#v", v)
	}
	if v := r.bytes("v"); string(v) != "x" || r.err() != nil {
		t.Errorf("x read as %q, %v", v, r.err())
	}
}

func TestReaderSkipsTags(t *testing.T) {
	r := reader{data: []byte{2, 0, 3, 'a', 'b', 'c', 70, 0, 42}} // two tags, of three bytes and of none
	r.skipTags("tags")
	if r.int8("behind") != 42 || r.err() != nil {
		t.Errorf("stands at %d, %v", r.at, r.err())
	}
	for want, encoded := range [][]byte{kbin.AppendCompactArrayLen(nil, 0), kbin.AppendCompactArrayLen(nil, 1), kbin.AppendCompactArrayLen(nil, 2)} {
		r := reader{data: encoded}
		if got := r.compactLength("length"); got != want || r.err() != nil {
			t.Errorf("length %d read as %d, %v", want, got, r.err())
		}
	}
	if r := (reader{data: kbin.AppendCompactNullableArrayLen(nil, 0, true)}); r.compactLength("length") != -1 {
		t.Error("null is not -1")
	}
}

// The first failure stays, with its place; what is read later is zero and consumes nothing.
func TestReaderIsSticky(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		read func(*reader)
		at   int
	}{
		"integer cut short":     {[]byte{1, 2, 3, 4, 5}, func(r *reader) { r.int16("x"); r.int64("bad") }, 2},
		"empty":                 {nil, func(r *reader) { r.int8("bad") }, 0},
		"varint without an end": {[]byte{0x80, 0x80}, func(r *reader) { r.varint("bad") }, 0},
		"varint of 33 bits":     {[]byte{0xff, 0xff, 0xff, 0xff, 0x1f}, func(r *reader) { r.uvarint("bad") }, 0},
		"varint of six bytes":   {[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, func(r *reader) { r.uvarint("bad") }, 0},
		"varlong of 65 bits":    {[]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, func(r *reader) { r.varlong("bad") }, 0},
		"tag beyond the end":    {[]byte{1, 0, 5, 1}, func(r *reader) { r.skipTags("bad") }, 3},
		"2^32-1 tags":           {[]byte{255, 255, 255, 255, 15, 0, 0}, func(r *reader) { r.skipTags("bad") }, 7},
		"length -2":             {[]byte{0xff, 0xff, 0xff, 0xfe, 1}, func(r *reader) { r.bytes("bad") }, 4},
		"length 2^31-1":         {[]byte{0x7f, 0xff, 0xff, 0xff, 1}, func(r *reader) { r.bytes("bad") }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader{data: tt.data}
			tt.read(&r)
			if r.int32("later") != 0 || r.uvarint("later") != 0 || r.varlong("later") != 0 || r.bytes("later") != nil || r.remaining() != 0 {
				t.Error("a read behind the failure gave something")
			}
			var failure *readError
			if !errors.As(r.err(), &failure) || failure.Field != "bad" || failure.Offset != tt.at {
				t.Errorf("error %v, want field bad at byte %d", r.err(), tt.at)
			}
		})
	}
}
