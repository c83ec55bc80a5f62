package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// note is a counted code with what the catalogue says of it.
type note struct {
	analysis.NoteCount
	entry analysis.Entry
}

// explain returns the catalogue's entry of a code. A code without one is still shown, by its own text.
func explain(code pcap.Code) analysis.Entry {
	e, ok := analysis.Explain(code)
	if !ok {
		e = analysis.Entry{Code: code, Class: analysis.ClassLimit, Title: string(code), Effect: "not known"}
	}
	return e
}

// notes splits the notes by their class: what hides something, and what is merely odd.
func (v *view) notes() (limits, oddities []note) {
	for _, n := range v.Notes {
		e := explain(n.Code)
		if e.Class == analysis.ClassLimit {
			limits = append(limits, note{n, e})
		} else {
			oddities = append(oddities, note{n, e})
		}
	}
	return limits, oddities
}

// producers and repeats are those that the options ask for.
func (v *view) producers() []analysis.Producer {
	return slices.DeleteFunc(slices.Clone(v.Producers), func(p analysis.Producer) bool { return v.ProducerID != nil && *v.ProducerID != p.ProducerID })
}

func (v *view) repeats() []analysis.ApplicationRepeat {
	return slices.DeleteFunc(slices.Clone(v.Repeats), func(r analysis.ApplicationRepeat) bool { return !v.wantsPlace(r.Topic, r.Partition) })
}

// maxDamage is how many damaged places of one capture a report names: the first tell what is wrong with it.
const maxDamage = 5

// damage words the damaged places of a capture, "" for none.
func damage(places []pcap.Damage) string {
	var parts []string
	for i, d := range places {
		if i == maxDamage {
			parts = append(parts, "and "+count(len(places)-i, "more place"))
			break
		}
		parts = append(parts, damageText(d))
	}
	return strings.Join(parts, "; ")
}

// damageText words one damaged place of a capture: what is wrong, after which frame, at which byte, and what it costs.
func damageText(d pcap.Damage) string {
	lost := count(d.Lost, "byte") + " skipped"
	if d.Lost < 0 {
		lost = "the rest of the file is lost"
	}
	return fmt.Sprintf("%s at byte %d, after frame %d: %s", clean(d.What, 2*nameWidth), d.Offset, d.Frame, lost)
}

// DamageLines has a line for each of the first damaged places of a capture, and one for the rest, for a terminal.
func DamageLines(c *pcap.Capture) []string {
	var lines []string
	for i, d := range c.Damage {
		if i == maxDamage {
			lines = append(lines, fmt.Sprintf("%s: damaged in %s", name(c.Name), count(len(c.Damage)-i, "more place")))
			break
		}
		lines = append(lines, name(c.Name)+": "+damageText(d))
	}
	return lines
}
