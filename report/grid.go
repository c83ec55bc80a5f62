package report

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twcache"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table without lines: columns two spaces apart, the last one wrapped to the width, or below its row where the others leave
// it too little. Cells are clean already.
type grid struct {
	indent, width int
	header        []string // nil for none
	rows          [][]string
	right         []int // columns aligned to the right
}

// leastColumn is the least that the last column is wrapped to beside the others.
const leastColumn = 28

// drawer draws grids. All of a report share one table: tablewriter gives each new one half a megabyte of room.
type drawer struct {
	table *tablewriter.Table
	text  bytes.Buffer
}

func (d *drawer) draw(b *bytes.Buffer, g grid) error {
	if len(g.rows) == 0 {
		return nil
	}
	columns := g.columns()
	var below [][]string // of each line of the table
	last := g.width - g.indent - g.leading(columns)
	if last < leastColumn {
		columns--
		below = g.below(columns)
	}
	if err := d.render(g, columns, last); err != nil {
		return err
	}
	write := func(line string) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			b.WriteString(strings.Repeat(" ", g.indent) + line + "\n")
		}
	}
	i := 0
	for line := range strings.Lines(d.text.String()) {
		write(line)
		if i < len(below) {
			for _, line := range below[i] {
				write(line)
			}
		}
		i++
	}
	return nil
}

// render makes the text of the first columns of g. The last of all is wrapped to the width that is left for it.
func (d *drawer) render(g grid, columns, last int) error {
	if d.table == nil {
		d.table = tablewriter.NewTable(&d.text, bare()...)
	}
	d.table.Reset()
	d.text.Reset()
	d.table.Options(tablewriter.WithAlignment(g.alignment(columns)))
	if g.header != nil {
		d.table.Header(g.header[:columns])
	}
	all := columns == g.columns()
	for _, row := range g.rows {
		row = append(slices.Clone(row), make([]string, max(0, columns-len(row)))...)[:columns]
		if all {
			row[columns-1] = strings.Join(wrap(row[columns-1], last), "\n")
		}
		if err := d.table.Append(row); err != nil {
			return err
		}
	}
	return d.table.Render()
}

func (g grid) columns() int {
	columns := len(g.header)
	for _, row := range g.rows {
		columns = max(columns, len(row))
	}
	return columns
}

// below are the cells of a column as lines below their rows, as far in as the second column.
func (g grid) below(column int) [][]string {
	var all [][]string
	if g.header != nil {
		all = append(all, nil)
	}
	in := g.leading(2)
	for _, row := range g.rows {
		var lines []string
		if column < len(row) && row[column] != "" {
			for _, line := range wrap(row[column], g.width-g.indent-in) {
				lines = append(lines, strings.Repeat(" ", in)+line)
			}
		}
		all = append(all, lines)
	}
	return all
}

// leading returns the columns that all but the last column take.
func (g grid) leading(columns int) int {
	total := 0
	for i := range columns - 1 {
		widest := 0
		for _, row := range append([][]string{g.header}, g.rows...) {
			if i < len(row) {
				widest = max(widest, displaywidth.String(row[i]))
			}
		}
		total += widest + 2
	}
	return total
}

func (g grid) alignment(columns int) tw.Alignment {
	align := make(tw.Alignment, columns)
	for i := range align {
		align[i] = tw.AlignLeft
		if slices.Contains(g.right, i) {
			align[i] = tw.AlignRight
		}
	}
	return align
}

// bare turns off all that tablewriter would draw or rewrite. East Asian width is off, since it is guessed from the
// environment and the report must not depend on that.
func bare() []tablewriter.Option {
	return []tablewriter.Option{
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone}})),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithStringerCacheCustom(twcache.NewLRU[reflect.Type, reflect.Value](1)), // all cells are strings; its own has half a megabyte of room, made anew for each table
	}
}

// wrap breaks s at spaces into lines of at most width columns; a word that is wider gets a line of its own, so that a frame
// filter or a hash can be copied whole.
func wrap(s string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.Split(s, " ") {
		n := displaywidth.String(word)
		if used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// writeParagraph writes s wrapped to the width.
func writeParagraph(b *bytes.Buffer, width int, s string) {
	for _, line := range wrap(s, width) {
		b.WriteString(line + "\n")
	}
}

// writeIndented writes s as writeParagraph does, two columns in, further lines four.
func writeIndented(b *bytes.Buffer, width int, s string) { writeHanging(b, width, 2, 2, s) }

// writeHanging writes s wrapped to the width: indent columns in, and all lines but the first hang columns further.
func writeHanging(b *bytes.Buffer, width, indent, hang int, s string) {
	for i, line := range wrap(s, width-indent-hang) {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", hang))
		}
		b.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

// writeHead writes left and, at the right edge or in a line of its own, right.
func writeHead(b *bytes.Buffer, width int, left, right string) {
	space := width - displaywidth.String(left) - displaywidth.String(right)
	if space < 2 {
		b.WriteString(left + "\n  " + right + "\n")
		return
	}
	b.WriteString(left + strings.Repeat(" ", space) + right + "\n")
}
