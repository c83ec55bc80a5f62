package reassembly

import (
	"math/rand"
	"slices"
	"testing"
)

// remembered is a model of closedConnections: a list, the oldest first.
type remembered []ended

type ended struct {
	of   flow
	base uint32
}

// add is closedConnections.add. In a list it is plain what that means: of too many of a flow the first goes and the others move up.
func (l *remembered) add(e ended, limit int) (forgot bool) {
	var same []int
	for i := range *l {
		if (*l)[i].of == e.of {
			same = append(same, i)
		}
	}
	switch {
	case limit == 0:
		return true
	case len(same) == closedPerFlow:
		for i, at := range same[1:] {
			(*l)[same[i]] = (*l)[at]
		}
		(*l)[same[closedPerFlow-1]] = e
		return true
	case len(*l) == limit:
		*l = append((*l)[1:], e)
		return true
	}
	*l = append(*l, e)
	return false
}

// TestClosedConnections: rings of any size remember what the model does, of few flows and of many.
func TestClosedConnections(t *testing.T) {
	random := rand.New(rand.NewSource(61))
	for _, limit := range []int{0, 1, 2, 3, closedPerFlow, closedPerFlow + 1, len(row{}), 2*len(row{}) - 1} {
		for _, flows := range []int{1, 2, 5, 50, 1000} {
			c, want := newClosedConnections(limit), remembered{}
			for base := range uint32(4*limit + 20) {
				f := flow{low: endpoint{port: uint16(random.Intn(flows))}}
				if forgot := want.add(ended{f, base}, limit); c.add(f, tombstone{base: [2]uint32{base}}) != forgot {
					t.Fatalf("limit %d, %d flows, connection %d: forgot %v", limit, flows, base, !forgot)
				}
				same := slices.DeleteFunc(slices.Clone(want), func(e ended) bool { return e.of != f })
				var got remembered
				for i := range c.ofFlow(f) {
					got = slices.Insert(got, 0, ended{c.at(i).of, c.at(i).base[0]})
				}
				if !slices.Equal(got, same) || c.size != len(want) {
					t.Fatalf("limit %d, %d flows, connection %d: %v of %d, want %v of %d", limit, flows, base, got, c.size, same, len(want))
				}
			}
			for f := range c.newest {
				if !slices.ContainsFunc(want, func(e ended) bool { return e.of == f }) {
					t.Errorf("limit %d, %d flows: one is forgotten, but not gone", limit, flows)
				}
			}
		}
	}
}
