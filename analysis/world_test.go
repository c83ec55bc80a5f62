package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// world is a made-up cluster whose brokers keep the rules of the protocol. Its producers act out stories; what a capture would
// see of them is written down in the history notation. Steps of different producers interleave at random.
type world struct {
	*rand.Rand
	lines      []string
	now        int
	partitions []*log
	producers  []*actor
	conns      map[string]int // how often a connection of a process to a broker has ended
	letters    int
	ids        int
	broker     int      // number before its first broker
	truth      []string // records that stand twice: cause, partition, offsets
}

// log is a partition of a world.
type log struct {
	name       string
	leader     int
	epoch      int
	appendTime bool // message.timestamp.type
	lz4        bool // compression.type
	entries    []*logged
	next       int
	spoiled    bool // has a misrouted batch already
}

// logged is a batch in a log.
type logged struct {
	text      string
	base, n   int
	committed bool
	at        int // time of the append
	epoch     int // of the leader
}

// actor is a producer of a world.
type actor struct {
	process       string
	id            int // -1 none
	epoch         int
	transactional bool
	v2            bool // transactions of version 2
	acks          string
	sequence      map[*log]int
	steps         []func()
}

func newWorld(seed uint64) *world { return newWorldBeside(seed, 0) }

// newWorldBeside makes the n-th of several worlds that share nothing.
func newWorldBeside(seed uint64, n int) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 1)), conns: map[string]int{}, now: 1000, letters: 5000 * n, ids: 100 * n, broker: 3 * n}
	for i := range 3 {
		w.partitions = append(w.partitions, &log{
			name: fmt.Sprintf("%c/%d", 't'+rune(n), i), leader: w.broker + 1 + w.IntN(3), epoch: 1, next: w.IntN(100),
			appendTime: w.IntN(4) == 0, lz4: w.IntN(4) == 0,
		})
	}
	for i := range 4 {
		c := &actor{process: string(rune('a' + 4*n + i)), id: -1, sequence: map[*log]int{}, acks: " acks=-1"}
		if i < 2 {
			c.id = w.newID()
		}
		c.transactional = i == 1
		c.v2 = w.IntN(2) == 0
		w.producers = append(w.producers, c)
	}
	return w
}

func (w *world) newID() int { w.ids++; return 6 + w.ids }

// say writes a statement of now.
func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf("@%d ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) history() string { return strings.Join(w.lines, "\n") }

// conn names the connection of a process to a partition's leader.
func (w *world) conn(process string, l *log) string {
	pair := fmt.Sprint(process, l.leader)
	return pair + strings.Repeat("'", w.conns[pair])
}

// content makes n records of fresh content.
func (w *world) content(n int) string {
	var text strings.Builder
	for range n {
		text.WriteRune('\u4e00' + rune(w.letters))
		fmt.Fprint(&text, w.now)
		w.letters++
	}
	return text.String()
}

// payload is what a client means to store.
type payload struct {
	records string
	n       int
	txn     bool
}

// identity gives a batch the next sequences of a producer.
func (w *world) identity(c *actor, l *log, b payload) string {
	flags := ""
	if b.txn {
		flags = "%txn"
	}
	if c.id < 0 {
		return "-:" + b.records + flags
	}
	text := fmt.Sprintf("%d/%d/%d:%s%s", c.id, c.epoch, c.sequence[l], b.records, flags)
	c.sequence[l] += b.n
	return text
}

func (w *world) send(c *actor, l *log, text string) {
	txn := ""
	if c.transactional {
		txn = " txn=x"
	}
	w.say("%s > %s %s%s%s", w.conn(c.process, l), l.name, text, c.acks, txn)
}

func (w *world) append(l *log, text string, n int) *logged {
	e := &logged{text: text, base: l.next, n: n, at: w.now, epoch: l.epoch}
	l.entries = append(l.entries, e)
	l.next += n
	return e
}

// ok answers a new append.
func (w *world) ok(c *actor, l *log, e *logged) {
	e.committed = true
	time := ""
	if l.appendTime {
		time = fmt.Sprintf("~%d", e.at)
	}
	w.say("%s < =%d%s", w.conn(c.process, l), e.base, time)
}

// recognised answers an exact retry.
func (w *world) recognised(c *actor, l *log, e *logged) {
	e.committed = true
	time := "~"
	if l.appendTime {
		time = fmt.Sprintf("~%d", e.at)
	}
	w.say("%s < =%d%s", w.conn(c.process, l), e.base, time)
}

func (w *world) drop(c *actor, l *log) {
	w.say("%s rst", w.conn(c.process, l))
	w.conns[fmt.Sprint(c.process, l.leader)]++
}

// lead moves a partition to another leader. Requests that wait elsewhere are not affected: the old leader has answered them.
func (w *world) lead(l *log) {
	l.epoch++
	w.say("m%d leader %s %d %d", w.broker+1+w.IntN(3), l.name, l.leader, l.epoch)
}

// fetch shows a part of a log to a reader: committed entries to a consumer, all to a follower.
func (w *world) fetch(l *log, all bool) {
	end := l.next
	var words []string
	from := 0
	if !all && len(l.entries) > 0 {
		from = w.IntN(len(l.entries))
	}
	follower := !all && w.IntN(3) == 0
	for i, e := range l.entries {
		if !e.committed && !all && !follower {
			end = e.base
			break
		}
		if i < from {
			continue
		}
		words = append(words, fmt.Sprintf("%d=%s^%d", e.base, l.text(e), e.epoch))
	}
	for _, e := range l.entries {
		if !e.committed && !all && e.base < end {
			end = e.base
		}
	}
	kind := ""
	if follower {
		kind = " follower=2"
	}
	w.say("%s%d fetch %s hw=%d%s %s", []string{"r", "s", "o"}[w.IntN(3)], l.leader, l.name, end, kind, strings.Join(words, " "))
}

// text is a batch as its partition keeps it.
func (l *log) text(e *logged) string {
	text := e.text
	if strings.Contains(text, "commit") || strings.Contains(text, "abort") {
		return text
	}
	if l.lz4 {
		text += "%lz4"
	}
	if l.appendTime {
		text += fmt.Sprintf("~%d", e.at)
	}
	return text
}

// run lets producers act until each has told its stories, then a reader reads all.
func (w *world) run(stories int, tell func(*actor)) {
	left := make([]int, len(w.producers))
	for i := range left {
		left[i] = stories
	}
	for {
		var ready []int
		for i, c := range w.producers {
			if len(c.steps) > 0 || left[i] > 0 {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		i := ready[w.IntN(len(ready))]
		c := w.producers[i]
		if len(c.steps) == 0 {
			left[i]--
			tell(c)
			continue
		}
		w.now += 10 * (1 + w.IntN(3))
		step := c.steps[0]
		c.steps = c.steps[1:]
		step()
		if w.IntN(6) == 0 {
			w.fetch(w.partitions[w.IntN(len(w.partitions))], false)
		}
	}
	for _, l := range w.partitions {
		w.now += 10
		w.fetch(l, true)
	}
}

func (c *actor) then(steps ...func()) { c.steps = append(c.steps, steps...) }

func (w *world) partition() *log { return w.partitions[w.IntN(len(w.partitions))] }
