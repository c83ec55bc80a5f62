package report

import "github.com/kdupscan/kdupscan/analysis"

// Findings returns the findings that a report with these options lists, in its order: F1 first.
func Findings(r *analysis.Result, o Options) []*analysis.Finding { return newView(r, o).findings }
