package analysis

import (
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// Histories that were once judged wrong, or that no rule has for its own.
func TestOnceWrong(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "the first batch never arrived, the retry of its record with a newer one did: one copy of each",
			history: `p1 > t/0 7/0/0:z; p1 < =9; p1 > t/0 7/0/1:a; p1 rst; p1' > t/0 7/0/1:ab; p1' < 7=10; p1' > t/0 7/0/3:c; p1' < 45
				p1' > t/0 7/1/0:ab; p1' < =12`,
			want:   `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by error 45 on t/0`,
			counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "the same, and a reader sees where it stands",
			history: `p1 > t/0 7/0/1:a; p1 rst; p1' > t/0 7/0/1:ab; p1' rst; @9000 p1'' > t/0 7/1/0:ab; p1'' < =12; r1 fetch t/0 hw=14 10=7/0/1:ab 12=7/1/0:ab`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "the retry has fewer records, and is stored",
			history: `p1 > t/0 7/0/0:z; p1 < =9; p1 > t/0 7/0/1:ab; p1 rst; p1' > t/0 7/0/1:a; p1' < 7=10; p1' > t/0 7/0/3:c; p1' < 45; p1' > t/0 7/1/0:ab; p1' < =12`,
			want:    `probable epoch-bump t/0 10>12 7/0>7/1 by error 45 on t/0`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "the later copy is cut anew, too",
			history: `p1 > t/0 7/0/0:z; p1 < =9; p1 > t/0 7/0/1:ab; p1 < 7=10; p1 > t/0 7/1/0:ab; p1 rst; p1' > t/0 7/1/0:abc; p1' < =12`,
			want:    `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
			counts:  `appended 2, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "the retry with a newer record is acknowledged: what the application writes after that is its own",
			history: `p1 > t/0 7/0/1:a; p1 rst; p1' > t/0 7/0/1:ab; p1' < =10; @9000 p1' > t/0 7/0/3:a!; p1' < =12; r1 fetch t/0 hw=13 10=7/0/1:ab 12=7/0/3:a!`,
			counts:  `appended 2, unacknowledged 1`,
		},
		{
			name:    "the same under a later epoch",
			history: `p1 > t/0 7/0/1:a; p1 rst; p1' > t/0 7/0/1:ab; p1' < =10; @9000 p1' > t/0 7/1/0:a; p1' < =12; r1 fetch t/0 hw=13 10=7/0/1:ab 12=7/1/0:a`,
			counts:  `appended 2, unacknowledged 1, application_repeats 1, epoch_bumps 1`,
		},
		{
			// 7/0/5 is the first copy of 8/0/0, and comes again in another cut after it.
			name: "links between records close no ring",
			history: `p1 > t/0 7/0/5:a; p1 rst; p1' > t/0 8/0/0:a; p1' rst; p1'' > t/0 7/0/5:ab; p1'' < =10
				p1'' > t/0 9/0/0:c; p1'' < =20`,
			counts: `appended 2, unacknowledged 1`,
		},
		{
			name: "an abort decides although its marker was not captured",
			history: `p1 > t/0 7/0/0:a%txn txn=x; p1 < unread; p1 end 7/0 abort; p1 ended 7/1; p1 > t/0 7/1/0:a%txn txn=x; p1 < =12
				p1 end 7/1 commit; p1 ended 7/2; r1 fetch t/0 hw=14 10=7/0/0:a%txn 12=7/1/0:a%txn 13=7/2:commit`,
			counts: `appended 1`,
		},
		{
			name: "an offset gap is given once",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:a; p1 rst; q1 > t/0 -:y; q1 < =10; p1' > t/0 -:a; p1' rst
				p1'' > t/0 -:a; p1'' < =11; p1'' > t/0 -:w; p1'' < =13`,
			want:   `probable blind-retry t/0 12>11`,
			counts: `appended 4`,
		},
		{
			name: "an offset gap in sequence order across the wrap",
			history: `p1 > t/0 7/0/2147483646:z; p1 < =9; p1 > t/0 7/0/2147483647:a; p1 > t/0 7/0/0:bc; p1 rst
				p1' > t/0 7/1/0:abc; p1' < =13`,
			want:   `probable epoch-bump t/0 10>13 11>14 12>15 7/0>7/1 by connection-lost on t/0`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "an offset gap with room for the first of two across the wrap",
			history: `p1 > t/0 7/0/2147483646:z; p1 < =9; p1 > t/0 7/0/2147483647:a; p1 > t/0 7/0/0:bc; p1 rst
				p1' > t/0 7/1/0:abc; p1' < =11`,
			want:   `probable epoch-bump t/0 10>11 7/0>7/1 by connection-lost on t/0`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "the OK to a retry does not hide the error that forced the bump",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; p3 > v/6 7/0/4:y; p3 < 6; p2 > u/5 7/0/9:x; p2 < 45; p3 > v/6 7/0/4:y; p3 < =1
				@400 p1 > t/0 7/1/0:a; p1 < =11`,
			want:   `probable epoch-bump t/0 10>11 7/0>7/1 by error 45 on u/5`,
			counts: `appended 2, rejected 2, epoch_bumps 1`,
		},
		{
			name:    "a new producer id after the connection's end",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; p1 rst; p1' > t/0 8/0/0:a; p1' < =11`,
			want:    `probable new-producer-id t/0 10>11 7/0>8/0 by connection-lost`,
			counts:  `appended 1`,
		},
		{
			name:    "with acks=0 nothing tells a blind retry from an application that repeats itself",
			history: `p1 > t/0 -:ab acks=0; r1 fetch t/0 hw=14 10=-:ab 12=-:ab`,
		},
		{
			name:    "a sighting before the first send is another batch's",
			history: `r1 fetch t/0 hw=11 10=-:a; p1 > t/0 -:a; p1 rst`,
			counts:  `unacknowledged 1`,
		},
		{
			name:    "two later copies of one lost request, the first answered with an offset",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' > t/0 -:ac; p1' < 7=10; p1' < =12`,
			want:    `probable blind-retry t/0 10>12`,
			counts:  `appended 1`,
		},
		{
			name:    "an epoch between that was refused",
			history: `p1 > t/0 7/0/5:ab; p1 < 20=10; p1 > t/0 7/1/0:ab; p1 < 45; p1 > t/0 7/2/0:ab; p1 < =12`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/2 by error 45 on t/0`,
			counts:  `appended 1, rejected 1, epoch_bumps 2`,
		},
		{
			name:    "a retry that NAT shows under two address pairs, as its first attempt",
			history: `p1 > t/0 -:a; n1 > t/0 -:a nat=p1; p1 rst; n1 rst; p1' > t/0 -:a; n1' > t/0 -:a nat=p1'; p1' < =11; n1' < =11`,
			want:    `possible blind-retry t/0 ?>11`,
			counts:  `appended 1`,
		},
		{
			name:    "a blind retry in parts",
			history: `p1 > t/0 -:ab; p1 rst; p1' > t/0 -:a; p1' > t/0 -:b; p1' < =12; p1' < =13; r1 fetch t/0 hw=14 10=-:ab 12=-:a 13=-:b`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			name:    "a blind retry behind a newer batch",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:b; p1' < =11; p1' > t/0 -:a; p1' < =12; r1 fetch t/0 hw=13 10=-:a 11=-:b 12=-:a`,
			want:    `confirmed blind-retry t/0 10>12`,
			counts:  `appended 2`,
		},
		{
			name: "parts sent again under their own timestamps although the whole was accepted",
			history: `p1 > t/0 -:ab; p1 > t/0 -:cd; p1 > t/0 -:ef; p1 < =10; p1 < 10; p1 < =12
				@500 p1 > t/0 -:a; p1 > t/0 -:b; p1 > t/0 -:c; p1 > t/0 -:d; p1 > t/0 -:e; p1 > t/0 -:f
				p1 < =14; p1 < =15; p1 < =16; p1 < =17; p1 < =18; p1 < =19`,
			counts: `appended 8, rejected 1, application_repeats 4`,
		},
		{
			name:    "a constant payload is paired across the sequence wrap",
			history: `p1 > t/0 7/0/2147483647:a; p1 > t/0 7/0/0:a; p1 > t/0 7/0/1:a; p1 < 7=10; p1 < 7=11; p1 < 7=12; p1 > t/0 7/1/0:aa; p1 < =13`,
			want:    `probable epoch-bump t/0 10>13 11>14 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "the first attempt is answered 45 after the later copy was stored",
			history: `p1 > t/0 7/0/0:a; @5000 p1' > t/0 7/1/0:a; p1' < =11; @9000 p1 < 45`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "an OK under the old epoch, the new one was refused",
			history: `@1000 p1 > t/0 7/0/0:a; @5000 p1' > t/0 7/1/0:a; p1' < 45; p1 < =10`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "acks=all was answered OK, and the log lost it",
			history: `p1 > t/0 7/0/5:a; p1 < =10 unacked; p1 rst; p2 > t/0 7/0/5:a; p2 < =11; r2 fetch t/0 hw=12 10=8/0/0:x 11=7/0/5:a`,
			counts:  `appended 2`,
		},
		{
			name:    "records that one fetch shows and the capture of their send lacks",
			history: `p1 > t/0 7/0/5:a%cut; p1 < 20=10; p1 > t/0 7/1/0:a; p1 < =11; r1 fetch t/0 hw=12 10=7/0/5:a`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "batches of a new epoch whose records the capture lacks are not paired by their place alone",
			history: `p1 > t/0 7/0/5:a%cut; p1 < 20=10; p1 > t/0 7/1/0:b%cut; p1 < =11`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "a producer in one cluster only: the brokers of two are known, each with a producer 7",
			history: `r1 cluster A 1; r2 cluster B 2; p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 rst; p2 > t/0 7/1/0:a; p2 < =11`,
			counts:  `appended 2`,
		},
		{
			name: "another cluster's producer of the same id is told 45: no trigger here",
			history: `r1 cluster A 1; r2 cluster B 2; p1 > t/0 7/0/0:a; p1 < =10; q2 > u/0 7/0/0:x; q2 < =90
				p1 > t/0 7/0/1:b; p1 < 7=11; q2 > u/0 7/0/3:y; q2 < 45; @900 p1 > t/0 7/1/0:b; p1 < =12`,
			want:   `probable epoch-bump t/0 11>12 7/0>7/1 by nothing`,
			counts: `appended 3, rejected 1, epoch_bumps 1`,
		},
		{
			name: "twin: told 45 in the same cluster",
			history: `r1 cluster A 1 2; p1 > t/0 7/0/0:a; p1 < =10; p2 > u/0 7/0/0:x; p2 < =90
				p1 > t/0 7/0/1:b; p1 < 7=11; p2 > u/0 7/0/3:y; p2 < 45; @900 p1 > t/0 7/1/0:b; p1 < =12`,
			want:   `probable epoch-bump t/0 11>12 7/0>7/1 by error 45 on u/0`,
			counts: `appended 3, rejected 1, epoch_bumps 1`,
		},
		{
			name: "two live producers of one name write the same records",
			history: `p1 > t/0 7/0/0:a; p1' > t/0 8/0/0:a; p1 < =10; p1' < =11; @300 p1 > t/0 7/0/1:b; p1' > t/0 8/0/1:b; @600 p1 < =12; p1' < =13
				p1 > t/0 7/0/2:c; p1 < =14`,
			counts: `appended 5, application_repeats 2`,
		},
		{
			name:    "twin: the first producer's connection is lost, and another id takes over",
			history: `p1 > t/0 7/0/0:a; p1 rst; p1' > t/0 8/0/0:a; p1' < =11; r1 fetch t/0 hw=12 10=7/0/0:a 11=8/0/0:a`,
			want:    `confirmed new-producer-id t/0 10>11 7/0>8/0 by connection-lost on t/0`,
			counts:  `appended 1`,
		},
		{
			name:    "a process writes what it has read, perhaps to another cluster",
			history: `p1 fetch t/0 hw=12 10=7/0/0:ab; p2 > t/0 8/0/0:ab; p2 < =50; p1 fetch t/0 hw=13 12=-:c; p2 > t/0 -:c; p2 < =52`,
			counts:  `appended 2`,
		},
		{
			name:    "twin: another process had read it",
			history: `q1 fetch t/0 hw=12 10=7/0/0:ab; p1 > t/0 8/0/0:ab; p1 < =50`,
			want:    `confirmed unknown t/0 10>50 11>51`,
			counts:  `appended 1`,
		},
		{
			name: "a topic created again under its name, no deletion seen: offsets begin at 0 once more",
			history: `p1 > t/0 -:a; p1 < =0; p1 > t/0 -:b; p1 < =1; r1 fetch t/0 hw=2 0=-:a 1=-:b
				@60000 p1 > t/0 -:b; p1 < =0; r1 fetch t/0 hw=1 0=-:b`,
			counts: `appended 3`,
		},
		{
			name:  "twin: it goes on behind the known end",
			doubt: DoubtFirstCopyAcknowledged,
			history: `p1 > t/0 -:a; p1 < =0; p1 > t/0 -:b; p1 < =1; r1 fetch t/0 hw=2 0=-:a 1=-:b
				@60000 p1 > t/0 -:b; p1 < =2; r1 fetch t/0 hw=3 2=-:b`,
			want:   `confirmed blind-retry t/0 1>2`,
			counts: `appended 3`,
		},
		{
			name:    "the same at a reader",
			history: `r1 fetch t/0 hw=2 0=7/0/0:a 1=7/0/1:b; @60000 r1 fetch t/0 hw=1 0=8/0/0:b`,
		},
		{
			name:    "twin: what was read first is read again: one log",
			history: `r1 fetch t/0 hw=2 0=7/0/0:a 1=7/0/1:b; @60000 r1 fetch t/0 hw=3 0=7/0/0:a 1=7/0/1:b 2=8/0/0:b`,
			want:    `confirmed unknown t/0 1>2`,
		},
		{
			name: "an unclean election cut the log back: the first copy was fetched, behind what stands there now",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; r1 fetch t/0 hw=12 10=7/0/0:a^1 11=7/0/1:b^1; p1 rst
				q2 > t/0 9/0/0:x; q2 < =10; p2 > t/0 7/1/0:b; p2 < =11; r2 fetch t/0 hw=12 10=9/0/0:x^2 11=7/1/0:b^2`,
			counts: `appended 3, epoch_bumps 1, leader_changes 1`,
		},
		{
			name:    "an error without an offset, and the log has both: the broker stored it in the end",
			history: `p1 > t/0 -:a; p1 < 7; p1 > t/0 -:a; p1 < =11; r1 fetch t/0 hw=12 10=-:a 11=-:a`,
			want:    `confirmed blind-retry t/0 10>11`,
			counts:  `appended 1, rejected 1`,
		},
		{
			name: "an open transaction of a process that died; the next one begins with another id of both kinds",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:ab%txn txn=x; @300 p1 rst
				@5000 p1' init 8/0 txn=y; p1' > t/0 8/0/0:ab%txn txn=y; p1' < =12; p1' end 8/0 commit; p1' ended -`,
			counts: `appended 1`,
		},
		{
			name: "twin: without transactions both stand",
			history: `p1 init 7/0; p1 > t/0 7/0/0:ab; @300 p1 rst
				@5000 p1' init 8/0; p1' > t/0 8/0/0:ab; p1' < =12`,
			want:   `possible new-producer-id t/0 ?>12 ?>13 7/0>8/0 by connection-lost on t/0`,
			counts: `appended 1`,
		},
		{
			name:    "sequences from 0 again in one epoch, constant content",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:a!; p1 < =11; @900 p1 > t/0 7/0/0:a!; p1 < =12`,
			counts:  `appended 3`,
		},
		{
			name:    "the same at a reader",
			history: `r1 fetch t/0 hw=12 10=7/0/0:a 11=7/0/1:a!; @900 r1 fetch t/0 hw=13 12=7/0/0:a!`,
		},
		{
			name:    "twin: the very same batch",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:a!; p1 < =11; @900 p1 > t/0 7/0/0:a; p1 < =12`,
			want:    `confirmed broker-dedup-failure t/0 10>12`,
			counts:  `appended 3`,
		},
		{
			name: "an unanswered batch came again in parts under its own sequences, and the log has both",
			history: `p1 > t/0 7/0/0:abc; p1 rst; p1' > t/0 7/0/0:a; p1' < =13; p1' > t/0 7/0/1:bc; p1' < =14
				r1 fetch t/0 hw=16 10=7/0/0:abc 13=7/0/0:a 14=7/0/1:bc`,
			want:   `confirmed broker-dedup-failure t/0 10>13 11>14 12>15`,
			counts: `appended 2`,
		},
		{
			name:    "twin: nothing shows the first cut",
			history: `p1 > t/0 7/0/0:abc; p1 rst; p1' > t/0 7/0/0:a; p1' < =13; p1' > t/0 7/0/1:bc; p1' < =14`,
			counts:  `appended 2, unacknowledged 1`,
		},
		{
			name:    "messages of an old format, one by one: two equal ones may be of one set",
			history: `r1 fetch t/0 hw=12 10=-:a%m1 11=-:a%m1`,
		},
		{
			name:    "twin: two messages came again in their order",
			history: `r1 fetch t/0 hw=14 10=-:a%m1 11=-:b%m1 12=-:a%m1 13=-:b%m1`,
			want: `confirmed blind-retry t/0 10>12
				confirmed blind-retry t/0 11>13`,
		},
		{
			name:    "20 again and again until the client gives up: nothing was acknowledged, and all is committed",
			history: `p1 > t/0 -:a; p1 < 20=10; p1 > t/0 -:a; p1 < 20=11; p1 > t/0 -:a; p1 < 20=12`,
			want:    `confirmed blind-retry t/0 10>11>12`,
		},
		{
			name:    "twin: 7 again and again: nothing shows that any of them stayed",
			history: `p1 > t/0 -:a; p1 < 7=10; p1 > t/0 -:a; p1 < 7=11; p1 > t/0 -:a; p1 < 7=12`,
		},
		{
			name:    "twin: the exact retry waits for the same place again",
			history: `p1 > t/0 7/0/0:a; p1 < 20=10; p1 > t/0 7/0/0:a; p1 < 20=10`,
		},
		{
			name: "the log was cut back to where the resend stands now: what came behind that is gone",
			history: `p1 > t/0 -:a acks=1; p1 < =10; p1 > t/0 -:b acks=1; p1 < =11; p1 > t/0 -:c acks=1; p1 rst
				p2 > t/0 -:c acks=1; p2 < =11`,
			counts: `appended 3`,
		},
		{
			name: "twin: behind the resend is room for a late one",
			history: `p1 > t/0 -:a acks=1; p1 < =10; p1 > t/0 -:b acks=1; p1 < =11; p1 > t/0 -:c acks=1; p1 rst
				p2 > t/0 -:c acks=1; p2 < =11; p2 > t/0 -:d acks=1; p2 < =13`,
			want:   `possible blind-retry t/0 ?>11`,
			counts: `appended 4`,
		},
		{
			name:    "two committed transactions of two producers, at a reader",
			history: `r1 fetch t/0 hw=14 committed 10=7/0/0:a%txn 11=7/0:commit 12=8/0/0:a%txn 13=8/0:commit`,
			want:    `confirmed unknown t/0 10>12`,
		},
		{
			name:    "the same of one that was started anew",
			history: `r1 fetch t/0 hw=14 10=7/0/0:a%txn 11=7/0:commit 12=7/1/0:a%txn 13=7/1:commit`,
			want:    `confirmed epoch-bump t/0 10>12 7/0>7/1 by nothing`,
		},
		{
			name:    "twin: the second one is open",
			history: `r1 fetch t/0 hw=14 10=7/0/0:a%txn 11=7/0:commit 12=8/0/0:a%txn`,
		},
		{
			name:    "twin: each end of a transaction raises the epoch",
			history: `r1 fetch t/0 hw=14 10=7/0/0:a%txn 11=7/1:commit 12=7/1/0:a%txn 13=7/2:commit`,
		},
		{
			name:    "a broker that no answer names joins the only known cluster",
			history: `r1 cluster A 1 2; p1 > t/0 -:a; p1 < 7=10; p3 > t/0 -:a; p3 < =11`,
			want:    `probable blind-retry t/0 10>11`,
			counts:  `appended 1`,
		},
	})
}

// TestConvertedRecords: an old format keeps key and value and has no headers, which are part of a record's content.
func TestConvertedRecords(t *testing.T) {
	sent := []kafka.Record{
		{Content: kafka.Fingerprint{Lo: 1}, Delta: 0, Key: kafka.Payload{Size: 1, Hash: 7}, Value: kafka.Payload{Size: 2, Hash: 8}},
		{Content: kafka.Fingerprint{Lo: 2}, Delta: 1, Key: kafka.Payload{Size: 1, Hash: 9}, Value: kafka.Payload{Size: 2, Hash: 8}},
	}
	seen := []kafka.Record{{Content: kafka.Fingerprint{Lo: 3}, Key: sent[1].Key, Value: sent[1].Value}}
	for delta, want := range []bool{false, true} {
		if have := sameRun(sent, int32(delta), seen, true); have != want {
			t.Errorf("record %d: converted: have %v", delta, have)
		}
		if sameRun(sent, int32(delta), seen, false) {
			t.Errorf("record %d: the content differs, and nothing was converted", delta)
		}
	}
}
