package analysis

import "testing"

// A later leader says where an epoch ends in its log (KIP-101, KIP-320): what stood behind it is gone.
func TestEpochEnds(t *testing.T) {
	const probable = `probable epoch-bump t/0 102>104 103>105 7/0>7/1 by nothing`
	const counts = `appended 1, epoch_bumps 1, leader_changes 1`
	runCases(t, []historyCase{
		{
			name: "twin: epoch 17 ends at the first copy: the new leader never had it",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 6=102; p1 leader t/0 2 18; r2 ends t/0 17 102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			counts: counts,
		},
		{
			name: "twin: asked only after the later copy, and again",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 7=102; p1 leader t/0 2 18;
				p2 > t/0 7/1/0:ab; p2 < =104; r2 ends t/0 17 102; r2 ends t/0 17 102`,
			counts: counts,
		},
		{
			name: "twin: the new leader has nothing of epoch 17 at all",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 6=102; p1 leader t/0 2 18; r2 ends t/0 17=15 101;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			counts: counts,
		},
		{
			name: "twin: a follower had copied it",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; f1 fetch t/0 hw=102 follower=3 102=7/0/5:ab^17; p1 < 6=102; p1 leader t/0 2 18;
				f2 ends t/0 17 102; p2 > t/0 7/1/0:ab; p2 < =104`,
			counts: counts,
		},
		{
			name: "twin: a consumer had read it before an unclean election; no Metadata is seen",
			history: `p1 > t/0 7/0/5:ab; r1 fetch t/0 hw=104 102=7/0/5:ab^17; p1 < 7=102; r2 ends t/0 17=16 102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			counts: `appended 1, epoch_bumps 1`,
		},
		{
			name: "epoch 17 ends behind it",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 6=102; p1 leader t/0 2 18; r2 ends t/0 17 104;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "the end was told before it was appended",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 leader t/0 2 18; r2 ends t/0 17 102; p1 < 6=102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "nothing shows a later epoch: the end may be that of the log",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 6=102; r2 ends t/0 17 102; p1 leader t/0 2 18;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "the end of an older epoch says nothing of this one",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 6=102; p1 leader t/0 2 18; r2 ends t/0 16 100;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			// Epoch 18 began with the first copy, before any Metadata told of it.
			name: "the leader stayed the same while its epoch rose",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 7=102; p1 leader t/0 1 18; r2 ends t/0 17 102;
				p1 > t/0 7/1/0:ab; p1 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "an epoch in between was not seen",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 7=102; p1 leader t/0 2 19; r2 ends t/0 17 102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "it was appended by the leader of epoch 18, as the addresses show",
			history: `p1 cluster A 1 2; p1 leader t/0 1 17; p2 > t/0 7/0/5:ab; p2 < 7=102; p1 leader t/0 2 18; r1 ends t/0 17 102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "who appended it says so",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; p1 < 7=102; p1 leader t/0 2 18; r1 ends t/0 17 102;
				p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "it was appended under epoch 18, as its follower shows",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; f1 fetch t/0 hw=102 follower=3 102=7/0/5:ab^18; p1 < 6=102; p1 leader t/0 2 18;
				r2 ends t/0 17 102; p2 > t/0 7/1/0:ab; p2 < =104`,
			want: probable, counts: counts,
		},
		{
			name: "it is seen again afterwards",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/5:ab; f1 fetch t/0 hw=102 follower=3 102=7/0/5:ab^17; p1 < 6=102; p1 leader t/0 2 18;
				r2 ends t/0 17 102; r2 fetch t/0 hw=104 102=7/0/5:ab^17; p2 > t/0 7/1/0:ab; p2 < =104`,
			want: `confirmed epoch-bump t/0 102>104 103>105 7/0>7/1 by nothing`, counts: counts,
		},
	})
}
