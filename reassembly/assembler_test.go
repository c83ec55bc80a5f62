package reassembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const hello = "AS BS Aa0 " // and what it gives:
const opened = "openA "

func TestOrders(t *testing.T) {
	quiet := strings.Repeat("Ba0 ", reorderSegments+1) // enough segments to end a wait
	tests := []struct {
		name, in, want string
		notes          string
	}{
		{"in order", hello + "A0+5 B0+7a5 A5+5a7", opened + "A0-5 ackA5 B0-7 ackB7 A5-10 close:end", ""},
		{"swapped", hello + "A5+5 A0+5", opened + "A0-5 A5-10 close:end", ""},
		{"swapped, and the answer stands before both", hello + "B0+7a10 A5+5 A0+5a7", opened + "ackA10 B0-7 ackB7 A0-5 A5-10 close:end", ""},
		{"three out of order", hello + "A10+5 A5+5 A15+5 A0+5", opened + "A0-5 A5-10 A10-15 A15-20 close:end", ""},
		{"repeated", hello + "A0+5 A0+5 A5+5", opened + "A0-5 A0-5:again A5-10 close:end", ""},
		{"repeated while it waits", hello + "A5+5 A5+5 A0+5", opened + "A5-10:again A0-5 A5-10 close:end", ""},
		{"repeated with other borders", hello + "A0+5 A5+5 A3+10", opened + "A0-5 A5-10 A3-10:again A10-13 close:end", ""},
		{"overlap of waiting pieces", hello + "A4+2 A8+2 A2+10 A0+2", opened + "A4-6:again A8-10:again A0-2 A2-4 A4-6 A6-8 A8-10 A10-12 close:end", ""},
		{"conflict after delivery, the first counts", hello + "A0+5 A2+6x", opened + "A0-5 A2-5:again! A5-8x close:end", "tcp-overlap-conflict"},
		{"conflict while waiting, the first counts", hello + "A5+5 A0+10x", opened + "A0-5x A5-10 A5-10:again! close:end", "tcp-overlap-conflict"},

		{"lost, and acknowledged", hello + "A5+5 Ba10 " + quiet + "A10+5",
			opened + "ackA10 A0-5:lost A5-10 A10-15 close:end", "tcp-gap"},
		{"lost, and acknowledged long ago", hello + "A5+5 Ba10 @150ms A10+5", opened + "ackA10 A0-5:lost A5-10 A10-15 close:end", "tcp-gap"},
		{"an answer alone proves no loss", hello + "A5+5 B0+7a10 B7+7a10 A0+5", opened + "ackA10 B0-7 B7-14 A0-5 A5-10 close:end", ""},
		{"lost on the way and repeated", hello + "A5+5 " + strings.Repeat("Ba0 ", 40) + "@2s A0+5 Ba10", opened + "A0-5 A5-10 ackA10 close:end", ""},
		{"lost, nobody acknowledges", hello + "A5+5 @11s A10+5", opened + "A0-5:lost A5-10 A10-15 close:end", "tcp-gap"},
		{"several losses are given up together", hello + "A5+5 A15+5 A25+5 Ba30 @150ms Ba30", opened + "ackA30 A0-5:lost A5-10 A10-15:lost A15-20 A20-25:lost A25-30 close:end", "tcp-gap tcp-gap tcp-gap"},
		{"lost tail, seen by its acknowledgement", hello + "A0+5 Ba20 @150ms Ba20", opened + "A0-5 ackA20 A5-20:lost close:end", "tcp-gap"},
		{"one more than all is a FIN, not a byte", hello + "A0+5 Ba6 @1s Ba6", opened + "A0-5 ackA6 close:end", ""},
		{"lost at the end", hello + "A5+5", opened + "A0-5:lost A5-10 close:end", "tcp-gap"},
		{"late after it was given up", hello + "A5+5 Ba10 @150ms Ba10 A0+5", opened + "ackA10 A0-5:lost A5-10 close:end", "tcp-gap tcp-late-data"},

		{"cut by snaplen", hello + "A0+10/4 A10+5", opened + "A0-4 A4-10:cut A10-15 close:end", "tcp-cut"},
		{"cut, and swapped", hello + "A10+10/4 A0+10/4", opened + "A0-4 A4-10:cut A10-14 A14-20:cut close:end", "tcp-cut tcp-cut"},
		{"cut, and filled before its turn", hello + "A10+10/4 A10+10 A0+10", opened + "A10-14:again A0-10 A10-14 A14-20 close:end", ""},
		{"cut to nothing", hello + "A0+10/0 A10+5", opened + "A0-10:cut A10-15 close:end", "tcp-cut"},

		{"segments above 64 KiB", hello + "A100000+100000 A0+100000", opened + "A0-100000 A100000-200000 close:end", ""},

		{"sequence numbers wrap", "A=4294967290 " + hello + "A0+10 A10+5 A20+5 A15+5", opened + "A0-10 A10-15 A15-20 A20-25 close:end", ""},
		{"the SYN is the last number before the wrap", "A=4294967295 " + hello + "A5+5 A0+5", opened + "A0-5 A5-10 close:end", ""},

		{"FIN", hello + "A0+5 AF5 BF0a6", opened + "A0-5 finA5 ackA5 finB0 close:fin", ""},
		{"FIN ahead of data", hello + "AF10 A5+5 A0+5", opened + "A0-5 A5-10 finA10 close:end", ""},
		{"FIN ahead of lost data", hello + "A0+5 AF10 Ba11 @150ms Ba11", opened + "A0-5 ackA10 A5-10:lost finA10 close:end", "tcp-gap"},
		{"FIN with data", hello + "AF5+3 A0+5", opened + "A0-5 A5-8 finA8 close:end", ""},
		{"half close", hello + "AF0 B0+5a1 B5+5a1 BF10a1 Aa11", opened + "finA0 B0-5 B5-10 finB10 close:fin", ""},
		{"FIN repeated", hello + "A0+5 AF5 AF5", opened + "A0-5 finA5 close:end", ""},
		{"data after FIN", hello + "A0+5 AF5 A5+5", opened + "A0-5 finA5 close:end", "tcp-after-fin"},
		{"FIN before data that was seen", hello + "A0+9 AF5 A9+5", opened + "A0-9 A9-14 close:end", "tcp-after-fin"},

		{"reset", hello + "A0+5 BR0a5 A5+5", opened + "A0-5 close:rstB", "tcp-after-close"},
		{"reset, data swapped behind it", hello + "A5+5 AR10 A0+5", opened + "A0-5 A5-10 close:rstA", ""},
		{"reset over lost data", hello + "A5+5 AR10 @150ms Ba0", opened + "A0-5:lost A5-10 close:rstA", "tcp-gap"},
		{"reset over lost data, at the end", hello + "A5+5 AR10", opened + "A0-5:lost A5-10 close:rstA", "tcp-gap"},
		{"reset after an acknowledgement beyond the FIN", hello + "A0+5 Ba15 AF5 BR0 B0+5", opened + "A0-5 ackA15 finA5 close:rstB", "tcp-after-close"},
		{"reset out of window", hello + "A0+5 AR500000 A5+5", opened + "A0-5 A5-10 close:end", "tcp-out-of-window"},
		{"reset behind", hello + "A0+5 AR2 A5+5", opened + "A0-5 A5-10 close:end", "tcp-out-of-window"},
		{"reset with a diagnostic", hello + "A0+5 BR0+9", opened + "A0-5 close:rstB", ""},
		{"refused", "AS BR0a0", opened + "close:rstB", ""},
		{"reset of nothing", "AR0", "", ""},

		{"SYN repeated", "AS AS BS BS Aa0 A0+5", opened + "A0-5 close:end", ""},
		{"SYN after its answer", "BSa0 AS Aa0 A0+5 B0+5", opened + "A0-5 B0-5 close:end", ""},
		{"SYN after data", "A0+5 AS BS A5+5", opened + "A0-5 A5-10 close:end", ""},
		{"both SYNs after the answer", "B0+5a3 A0+3 AS BS", opened + "A0-3 ackA3 B0-5 close:end", ""},
		{"simultaneous open", "BS AS A0+5 B0+5", opened[:4] + "B A0-5 B0-5 close:end", ""},
		{"data in SYN", "AS0+5 BSa5 A5+5", opened + "A0-5 ackA5 A5-10 close:end", ""},
		{"data in SYN, repeated without", "AS0+5 AS BS A0+5", opened + "A0-5 A0-5:again close:end", ""},

		{"answers with two numbers, the client takes the last", "AS BS B=9000 BSa0 Aa0 B0+5", opened + "B0-5 close:end", ""},
		{"answers with two numbers, the client has taken the first", "AS BS Aa0 B=9000 BSa0 B=5000 B0+5", opened + "B0-5 close:end", ""},

		{"late start", "A0+5 A5+5 @150ms A10+5", opened + "A0-5 A5-10 A10-15 close:end", "tcp-late-start"},
		{"late start, first two swapped", "A5+5 A0+5 @150ms A10+5", opened + "A0-5 A5-10 A10-15 close:end", "tcp-late-start"},
		{"late start in the middle (offsets of the script are others, hence the x)", "A100+5 B900+5 @150ms A105+5 B905+5", opened + "A0-5x B0-5x A5-10x B5-10x close:end", "tcp-late-start"},
		{"late start, and the SYN comes too late", "A5+5 @150ms A10+5 AS A15+5", opened + "A0-5x A5-10x A10-15x close:end", "tcp-late-start"},
		{"late start, in capture order", "B900+5 A100+5 B905+5 A105+5 B910+5 @150ms A110+5", "openB B0-5x A0-5x B5-10x A5-10x B10-15x A10-15x close:end", "tcp-late-start"},
		{"late start, both ends", "A100+5 AF105 B900+5 BF905 @150ms Aa906", opened + "A0-5x B0-5x finA5 finB5 ackB5 close:fin", "tcp-late-start"},
		{"late start, many segments", "A0+5 " + quiet, opened + "A0-5 close:end", "tcp-late-start"},
		{"one direction only", "AS Aa0 A0+5a0 A5+5a7 Aa20", opened + "A0-5 A5-10 ackB20 B0-20:lost close:end", "tcp-gap"},
		{"one direction only, late start", "A100+5a0 A105+5a7 @150ms A110+5a20", opened + "A0-5x A5-10x A10-15x ackB20 B0-20:lost close:end", "tcp-gap tcp-late-start"},
		{"one direction only, more than the window of an acknowledgement", "AS Aa0 A0+5a10000000 A5+5a20000000", opened + "A0-5 A5-10 B0-20000000:lost close:end", "tcp-gap"},
		{"one direction only, and nothing lost but a FIN", "AS Aa0 A0+5a0 A5+5a1", opened + "A0-5 A5-10 close:end", ""},
		{"acknowledgements alone", "Aa5 Aa50", opened + "close:end", ""},
		{"keep-alive", hello + "A0+5 A4+1x Ba5 A4+0 A5+5", opened + "A0-5 ackA5 A5-10 close:end", ""},
		{"zero-window probe of a byte", hello + "A0+5 A5+1 Ba5 A5+10", opened + "A0-5 A5-6 ackA5 A5-6:again A6-15 close:end", ""},
		{"bytes before the start", hello + "A0+5 A-3+5", opened + "A0-5 A0-2:again close:end", "tcp-before-start"},
		{"acknowledgement far ahead", hello + "A0+5 Ba900000000 @1s A5+5 Ba10", opened + "A0-5 A5-10 ackA10 close:end", ""},

		{"far ahead, alone", hello + "A0+5 A1500000000+5 A5+5", opened + "A0-5 A5-10 close:end", "tcp-out-of-window"},
		{"far ahead, and goes on there", hello + "A0+5 A1500000000+5 A1500000005+5 A1500000010+5",
			opened + "A0-5 A5-1500000005:lost A1500000005-1500000010 A1500000010-1500000015 close:end", "tcp-out-of-window tcp-resync tcp-gap"},
		{"1 GB ahead, alone", hello + "A0+5 A1000000000+5 A5+5 @20s A10+5 Ba15 Ba15", opened + "A0-5 A5-10 A10-15 ackA15 A15-1000000000:lost A1000000000-1000000005 close:end", "tcp-gap"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, DefaultLimits(), parse(t, test.in))
			if got := strings.Join(r.lines, " "); got != strings.TrimSpace(test.want) {
				t.Errorf("events\n got %s\nwant %s", got, test.want)
			}
			slices.Sort(r.notes)
			want := strings.Fields(test.notes)
			slices.Sort(want)
			if fmt.Sprint(r.notes) != fmt.Sprint(want) {
				t.Errorf("notes %v, want %v", r.notes, want)
			}
		})
	}
}

// Two connections one after the other, and repeats of closed ones.
func TestConnections(t *testing.T) {
	const whole = hello + "A0+5 B0+5a5 AF5a5 BF5a6 Aa6 "
	const seen = opened + "A0-5 ackA5 B0-5 ackB5 finA5 finB5 close:fin "
	tests := []struct{ name, in, want, notes string }{
		{"the same again", whole + whole, seen, "tcp-connection-repeat"},
		{"the same again, much later", whole + "@1h " + whole, seen, "tcp-connection-repeat"},
		{"the same again, without its handshake", whole + "A0+5a0 B0+5a5 AF5a5", seen, "tcp-connection-repeat"},
		{"ports used again", whole + "A=70000000 B=80000000 " + whole, seen + seen, ""},
		{"ports used again, first connection unfinished", hello + "A0+5 A=70000000 B=80000000 " + whole, opened + "A0-5 close:replaced " + seen, ""},
		{"ports used again, then the first one again", whole + "A=70000000 B=80000000 " + hello + "A0+5 A=1000 B=5000 AS BS A0+5 B0+5a5 A=70000000 B=80000000 A5+5",
			seen + opened + "A0-5 A5-10 close:end", "tcp-connection-repeat"},
		{"ports used again from the other side", whole + "A=70000000 B=80000000 BS ASa0 B0+5", seen + "openB B0-5 close:end", ""},
		{"ports used again from the other side, which was never seen", "A0+5a900 @150ms A5+5a900 B=70000000 BS ASa0 B0+5", opened + "A0-5 A5-10 close:replaced openB B0-5 close:end", "tcp-late-start"},
		{"ports used again without SYN", whole + "A=70000000 B=80000000 A0+5", seen + opened + "A0-5 close:end", "tcp-late-start"},
		{"last acknowledgement and reset after the end", whole + "Aa6 Ba6 AR6 BR6", seen, ""},
		{"data in flight at a reset", hello + "A0+5 BR0 A5+1000", opened + "A0-5 close:rstB", "tcp-after-close"},
		{"refused twice", "AS BR0a0 AS BR0a0 A=70000000 AS BR0a0", opened + "close:rstB " + opened + "close:rstB", "tcp-connection-repeat"},
		{"a second SYN with another number, unanswered", "AS A=70000000 AS BS A0+5", opened + "close:replaced " + opened + "A0-5 close:end", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The script's own idea of who has sent a SYN does not matter after the first connection.
			r := run(t, DefaultLimits(), parse(t, test.in))
			if got := strings.Join(r.lines, " "); got != strings.TrimSpace(test.want) {
				t.Errorf("events\n got %s\nwant %s", got, test.want)
			}
			if got := strings.Join(r.notes, " "); got != test.notes {
				t.Errorf("notes %q, want %q", got, test.notes)
			}
		})
	}
}
