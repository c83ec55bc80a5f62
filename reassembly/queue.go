package reassembly

// queue is a list of connections in the order in which they joined. The links are in the connections themselves; each is
// in at most one queue.
type queue struct {
	first, last *connection
	size        int
}

func (q *queue) push(c *connection) {
	c.before, c.after = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.after = c
	}
	q.last = c
	q.size++
}

// remove takes out a connection that is in q.
func (q *queue) remove(c *connection) {
	if c.before == nil {
		q.first = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		q.last = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	q.size--
}

// renew moves a connection that is in q to its end.
func (q *queue) renew(c *connection) {
	if q.last != c {
		q.remove(c)
		q.push(c)
	}
}
