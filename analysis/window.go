package analysis

// DefaultMemory is the history kept when Options name no bound: enough for about two million records and their batches.
const DefaultMemory = 192 << 20

// What one item of history takes, in bytes: its structs and its share of the indexes that judging builds.
const (
	sendCost     = 640
	sightingCost = 640
	recordCost   = 80
)

// window bounds the history.
type window struct {
	budget  int64
	used    int64
	settled []Finding // found in history that has been dropped
}

// grew accounts for new history.
func (c *Correlator) grew(cost int64) { c.window.used += cost }
