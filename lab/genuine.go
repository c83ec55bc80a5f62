package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/proxy"
)

// Faults without tampering: brokers are paused, killed, and lose their partitions.

// roles are the parts that brokers play for partition 0. The active controller takes over, since no fault befalls it.
type roles struct {
	leader, taker, follower int32
}

func rolesAround(controller int32) roles {
	n := int32(len(cluster.Nodes))
	return roles{taker: controller, leader: controller%n + 1, follower: (controller+1)%n + 1}
}

// replicas are those of the two partitions, the leader first.
func (r roles) replicas() [][]int32 {
	return [][]int32{{r.leader, r.taker, r.follower}, {r.taker, r.leader, r.follower}}
}

// patience is how long a fault waits for what it needs of the producer.
const patience = 20 * time.Second

// await returns when so many batches of partition 0 are as wanted; errNoFault if that does not happen
// before the producer ends.
func (st *stage) await(ctx context.Context, what string, times int, wanted func(*proxy.Batch) bool) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() {
		select {
		case <-st.producer.Ended():
			cancel()
		case <-waiting.Done():
		}
	}()
	err := st.proxy.Await(waiting, func(all []proxy.Batch) bool {
		n := 0
		for i := range all {
			if all[i].Partition == 0 && wanted(&all[i]) {
				n++
			}
		}
		return n >= times
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: waited for %s", errNoFault, what)
	}
	return err
}

func acknowledged(b *proxy.Batch) bool { return b.Answered && b.Error == 0 }

// appendedThenRefused is the answer of a leader that lost its partition while it waited for the followers.
func appendedThenRefused(b *proxy.Batch) bool {
	return b.Answered && b.Error == kerr.NotLeaderForPartition.Code && b.Offset >= 0
}

func unanswered(b *proxy.Batch) bool { return !b.Answered && b.Acks != 0 }

// sleep lets a fault last.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whilePaused pauses a broker once the producer is under way, and resumes it after f.
func (st *stage) whilePaused(ctx context.Context, node int32, f func(since time.Time) error) error {
	if err := st.await(ctx, "the producer to be under way", warmUp, acknowledged); err != nil {
		return err
	}
	since := time.Now()
	if err := st.brokers.Pause(node); err != nil {
		return err
	}
	return errors.Join(f(since), st.brokers.Resume(node))
}

// held returns when a batch has been sent that the leader cannot acknowledge, since a follower is paused.
func (st *stage) held(ctx context.Context, since time.Time) error {
	return st.await(ctx, "a batch to be held", 1, func(b *proxy.Batch) bool { return !b.Answered && b.SentAt.After(since) })
}

// moveHeld moves the leader away from under such a batch.
func (st *stage) moveHeld(ctx context.Context, since time.Time, to int32) error {
	if err := st.held(ctx, since); err != nil {
		return err
	}
	moving, cancel := context.WithTimeout(ctx, cluster.SessionTimeout/2) // while the paused broker still counts as alive
	defer cancel()
	err := st.brokers.MoveLeader(moving, st.roles.taker, st.topic, 0, to)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errNoFault, err)
	}
	return err
}

// longTimeout is of requests that wait for a fault to pass.
const longTimeout = 5 * time.Second

var leaderMoved = &fault{
	name: "leader moved while a follower is stopped", topic: "ledger", count: 60, timeout: longTimeout,
	about: "One follower is stopped (SIGSTOP), so that a batch waits for it; the other follower becomes leader. The old leader answers NOT_LEADER_OR_FOLLOWER with the offset.",
	seen:  appendedThenRefused,
	act: func(ctx context.Context, st *stage) error {
		return st.whilePaused(ctx, st.roles.follower, func(since time.Time) error {
			if err := st.moveHeld(ctx, since, st.roles.taker); err != nil {
				return err
			}
			return st.await(ctx, "the old leader's answer", 1, appendedThenRefused)
		})
	},
}

// movesToPaused is how often the leader moves in one attempt: what comes of one move is a matter of chance.
const movesToPaused = 4

var leaderMovedToPaused = &fault{
	name: "leader moved to a stopped follower", topic: "fleet", count: 400, timeout: longTimeout,
	about: "A follower is stopped and becomes leader nevertheless; it goes on half a second later. Up to four times, to and fro.",
	seen:  appendedThenRefused,
	act: func(ctx context.Context, st *stage) error {
		turns := [2]int32{st.roles.follower, st.roles.leader}
		for n := range movesToPaused {
			err := st.moveToPaused(ctx, turns[n%2])
			if n > 0 && errors.Is(err, errNoFault) {
				return nil // the producer has ended meanwhile
			}
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// moveToPaused makes a broker leader while it is paused, and returns when the producer goes on with it.
func (st *stage) moveToPaused(ctx context.Context, to int32) error {
	if err := st.brokers.AwaitInSync(ctx); err != nil {
		return err
	}
	err := st.whilePaused(ctx, to, func(since time.Time) error {
		if err := st.moveHeld(ctx, since, to); err != nil {
			return err
		}
		return sleep(ctx, 500*time.Millisecond)
	})
	if err != nil {
		return err
	}
	resumed := time.Now()
	return st.await(ctx, "the producer to go on", 3, func(b *proxy.Batch) bool { return acknowledged(b) && b.SentAt.After(resumed) })
}

// pauseLeader stops the leader for longer than the client waits for an answer.
func pauseLeader(d time.Duration) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		return st.whilePaused(ctx, st.roles.leader, func(time.Time) error { return sleep(ctx, d) })
	}
}

var leaderPaused = &fault{
	name: "leader stopped longer than the request timeout", topic: "meters", count: 60, open: true,
	about: "One broker is stopped for three seconds, requests time out after one. It leads partition 0 and stays its leader: when it goes on, it finds the old requests in its sockets. Batches of partition 1 wait for it as a follower.",
	seen:  unanswered,
	act:   pauseLeader(cluster.SessionTimeout / 2),
}

var expired = &fault{
	name: "message timeout", topic: "alerts", count: 150, expiry: 1500 * time.Millisecond,
	about: "One broker is stopped for four seconds: partition 0 lacks its leader, partition 1 a follower. Records expire after 1.5 s, possibly sent.",
	seen:  unanswered,
	act:   pauseLeader(cluster.SessionTimeout * 2 / 3),
}

var brokerKilled = &fault{
	name: "leader killed and restarted", topic: "vault", count: 60, timeout: longTimeout, open: true,
	about: "A batch waits for a stopped follower when the leader is killed (SIGKILL); the follower goes on, another broker becomes leader, the killed one starts again.",
	seen:  unanswered,
	act: func(ctx context.Context, st *stage) error {
		err := st.whilePaused(ctx, st.roles.follower, func(since time.Time) error {
			if err := st.held(ctx, since); err != nil {
				return err
			}
			// The other follower gets the batch in its next fetch, which waits at the leader already.
			if err := sleep(ctx, 200*time.Millisecond); err != nil {
				return err
			}
			return st.brokers.Kill(st.roles.leader)
		})
		if err != nil {
			return err
		}
		return st.brokers.Restart(ctx, st.roles.leader)
	},
}
