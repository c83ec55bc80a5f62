package analysis

import (
	"net/netip"
	"testing"
)

// TestSeveralLogs: servers that no answer names, in captures of several clusters.
func TestSeveralLogs(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "written to two clusters, one of which times out: each log goes on where it had ended",
			history: `p1 > t/0 -:a; p1 < =10; p8 > t/0 -:a; p8 < =50
				@1000 p1 > t/0 -:b; p1 < 7=11; @1200 p8 > t/0 -:b; p8 < =51
				@2000 p1 > t/0 -:c; p1 < =12; @3000 p8 > t/0 -:c; p8 < =52`,
			counts: `appended 5, application_repeats 2`,
		},
		{
			name: "the one with the higher offsets times out",
			history: `p1 > t/0 -:a; p1 < =10; p8 > t/0 -:a; p8 < =50
				@1000 p8 > t/0 -:b; p8 < 7=51; @1200 p1 > t/0 -:b; p1 < =11
				@2000 p8 > t/0 -:c; p8 < =52; @3000 p1 > t/0 -:c; p1 < =12; @4000 p8 > t/0 -:d; p8 < =53`,
			counts: `appended 6, application_repeats 2`,
		},
		{
			name: "one of them does not answer",
			history: `p1 > t/0 -:a; p1 < =10; p8 > t/0 -:a; p8 < =50
				@1000 p1 > t/0 -:b; p1 rst; @1200 p8 > t/0 -:b; p8 < =51
				@2000 p1' > t/0 -:c; p1' < =12; @3000 p8 > t/0 -:c; p8 < =52`,
			counts: `appended 5, application_repeats 2`,
		},
		{
			name: "twin: the first one is tried again, too",
			history: `p1 > t/0 -:a; p1 < =10; p8 > t/0 -:a; p8 < =50
				@1000 p1 > t/0 -:b; p1 < 7=11; @1200 p8 > t/0 -:b; p8 < =51; @1400 p1 > t/0 -:b; p1 < =12
				@2000 p1 > t/0 -:c; p1 < =13; @3000 p8 > t/0 -:c; p8 < =52`,
			want:   `probable blind-retry t/0 11>12`,
			counts: `appended 6, application_repeats 2`,
		},
		{
			name: "twin: a leader that comes back goes on behind the other one's records",
			history: `p1 > t/0 -:a; p1 < =10; @500 p1 > t/0 -:b; p1 < 6; p2 > t/0 -:b; p2 < =11
				@1000 p2 > t/0 -:c; p2 < 7=12; p2 > t/0 -:c; p2 < 6; @1500 p1 > t/0 -:c; p1 < =13; @2000 p2 > t/0 -:d; p2 < =14`,
			want:   `probable blind-retry t/0 12>13`,
			counts: `appended 4, rejected 2`,
		},
		{
			name: "twin: a leader that was cut off for a while, of one cluster by the word of an answer",
			history: `p1 cluster A 1 2; p1 > t/0 -:a acks=1; p1 < =10; @1000 q2 > t/0 -:c acks=1; q2 < =20; @2000 p1 > t/0 -:b acks=1; p1 < =11
				@5000 q2 > t/0 -:z acks=1; q2 < =21; @60000 p1 > t/0 -:k; p1 < 7=40; p2 > t/0 -:k; p2 < =41; p2 > t/0 -:l; p2 < =42`,
			want:   `probable blind-retry t/0 40>41`,
			counts: `appended 6`,
		},
		{
			name: "twin: a replica that is behind for longer than it may, of one cluster by the word of an answer",
			history: `r1 cluster A 1 2; r1 fetch t/0 hw=20 19=-:a; s2 fetch t/0 hw=20 19=-:a; @3000 r1 fetch t/0 hw=40; @36000 s2 fetch t/0 hw=21
				@37000 r1 fetch t/0 hw=50; @38000 s2 fetch t/0 hw=50; p1 > t/0 -:b; p1 < 7=50; p2 > t/0 -:b; p2 < =51`,
			want:   `probable blind-retry t/0 50>51`,
			counts: `appended 1`,
		},
		{
			name: "twin: captures of two brokers whose clocks differ",
			history: `p1 > t/0 -:a; p1 < =10; @100 p2 > t/0 -:c; p2 < =13; @120 p1 > t/0 -:b; p1 < =11
				@140 p2 > t/0 -:d; p2 < =14; @150 p1 > t/0 -:e; p1 < 7=15; @180 p2 > t/0 -:e; p2 < =16`,
			want:   `probable blind-retry t/0 15>16`,
			counts: `appended 5`,
		},
		{
			name:    "the same batch under one producer id: sent elsewhere when the first had been acknowledged",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p8 > t/0 7/0/0:a; p8 < =50`,
			counts:  `appended 2`,
		},
		{
			name:    "twin: the client never had the first answer",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 rst; p8 > t/0 7/0/0:a; p8 < =12`,
			want:    `confirmed broker-dedup-failure t/0 10>12`,
			counts:  `appended 2`,
		},
		{
			name:    "the same where the capture lost packets, and with them what acknowledged the first answer",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 gap server; p8 > t/0 7/0/0:a; p8 < =50`,
			counts:  `appended 2`,
		},
		{
			name:    "the same, and a later acknowledgement was captured",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 gap client; p8 > t/0 7/0/0:a; p8 < =50; p1 ack`,
			counts:  `appended 2`,
		},
		{
			name:    "twin: the capture lost nothing",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p8 > t/0 7/0/0:a; p8 < =12; p1 ack`,
			want:    `confirmed broker-dedup-failure t/0 10>12`,
			counts:  `appended 2`,
		},
		{
			name:    "twin: the connection was lost before the second send",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 gap server; p1 rst; p8 > t/0 7/0/0:a; p8 < =12`,
			want:    `confirmed broker-dedup-failure t/0 10>12`,
			counts:  `appended 2`,
		},
		{
			name: "two readers, each of another cluster's log",
			history: `r1 fetch t/0 hw=11 10=-:a; s8 fetch t/0 hw=51 50=-:a
				@40000 r1 fetch t/0 hw=12 11=-:b; s8 fetch t/0 hw=52 51=-:b
				@80000 r1 fetch t/0 hw=13 12=-:c; s8 fetch t/0 hw=53 52=-:c`,
		},
		{
			name: "twin: two replicas of one log, one of them behind",
			history: `r1 fetch t/0 hw=11 10=-:a; s2 fetch t/0 hw=11 10=-:a; @40000 r1 fetch t/0 hw=12 11=-:a; s2 fetch t/0 hw=11
				@80000 r1 fetch t/0 hw=13 12=-:c; s2 fetch t/0 hw=13 11=-:a 12=-:c`,
			want: `confirmed blind-retry t/0 10>11`,
		},
		{
			name: "brokers by host names: a server belongs to the cluster of those who use it",
			history: `p1 is x 1; p2 is x 1; p1 cluster A; q9 cluster B
				p1 > t/0 7/0/0:x; p1 < =9; p1 > t/0 7/0/1:a; p1 < 7=10; p2 > u/0 7/0/5:z; p2 < 45; p2 > t/0 7/1/0:a; p2 < =11`,
			want:   `probable epoch-bump t/0 10>11 7/0>7/1 by error 45 on u/0`,
			counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name: "the same by two steps",
			history: `p1 is x 1; p2 is x 1; s2 is x 1; s3 is x 1; p1 cluster A; q9 cluster B
				p1 > t/0 -:x; p1 < =9; s2 > t/0 -:a; s2 < 7=10; s3 > t/0 -:a; s3 < =11`,
			want:   `probable blind-retry t/0 10>11`,
			counts: `appended 2`,
		},
		{
			name: "both clusters have a topic of the name",
			history: `p1 is x 1; p2 is x 1; q9 is x 1; p1 cluster A; p1 topic t#1; q9 cluster B; q9 topic t#2
				p1 > t/0 -:a; p1 < 7=10; p2 > t/0 -:a; p2 < =11`,
			want:   `probable blind-retry t/0 10>11`,
			counts: `appended 1`,
		},
		{
			name: "twin: used by clients of both clusters, so that it may belong to either",
			history: `p1 is x 1; p2 is x 1; q2 is x 1; q9 is x 1; p1 cluster A; q9 cluster B
				p1 > t/0 -:a; p1 < 7=10; p2 > t/0 -:a; p2 < =11`,
			counts: `appended 1`,
		},
	})
}

// Each client of a chain tells of one more server: what is asked of them must not be asked of all again for each.
func TestCompanyOfMany(t *testing.T) {
	server := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 9092)
	}
	names := newTopics()
	names.known["A"], names.known["B"] = true, true
	names.clusters[server(0)] = "A"
	for i := range scaleSize {
		cl := client{netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), "x"}
		names.met(cl, server(i))
		names.met(cl, server(i+1))
	}
	if have := names.clusterByCompany(server(scaleSize)); have != "A" {
		t.Errorf("the last server is taken into %q", have)
	}
}
