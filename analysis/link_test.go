package analysis

import (
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// TestLinkLetsGo: a connection holds on to no send that does not wait for its answer any more.
func TestLinkLetsGo(t *testing.T) {
	c := New(Options{})
	l := c.link(&kafka.Seen{Link: &kafka.Link{}})
	sendOf := func() *send { return &send{of: &history{}, sent: &kafka.BatchSent{Request: &kafka.Request{}}} }
	l.asks(sendOf())
	if l.asks(sendOf()); l.one[0] != nil {
		t.Error("the first of two is kept in the room for one")
	}
	l = c.link(&kafka.Seen{Link: &kafka.Link{}})
	l.asks(sendOf())
	if c.close(l, &kafka.LinkClosed{}); l.one[0] != nil || l.open != nil {
		t.Error("a closed connection keeps what was not answered")
	}
}
