package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// Class says what kind of thing a code names.
type Class string

// Classes of catalogue entries.
const (
	ClassFinding Class = "finding" // a cause of duplicates
	ClassDoubt   Class = "doubt"   // what weakens or limits one finding
	ClassLimit   Class = "limit"   // what the capture could not show
	ClassOddity  Class = "oddity"  // unusual traffic that hides nothing
	ClassCount   Class = "count"   // an event that is counted and is no finding
)

// Entry explains one code. kdupscan explain prints it; the reports use Title and Effect.
type Entry struct {
	Code    pcap.Code
	Class   Class
	Title   string   // one line
	Effect  string   // limits: what this hides, one line
	Meaning string   // a paragraph or more
	Causes  []string // typical causes, one line each
	Next    []string // what to look at next
	Similar []string // look-alikes and how they were told apart
	Example string   // from a capture or an incident, or such as one could be; optional
	Since   string   // version that introduced the code
}

// Catalogue has an entry for every code that any package declares, class by class.
var Catalogue = slices.Concat(findingEntries, doubtEntries, limitEntries, oddityEntries, tlsOddityEntries, countEntries)

// Explain returns the entry of a code.
func Explain(code pcap.Code) (Entry, bool) {
	for _, e := range Catalogue {
		if e.Code == code {
			return e, true
		}
	}
	return Entry{}, false
}
