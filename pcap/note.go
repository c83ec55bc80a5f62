package pcap

// Code is the stable name of something worth counting: an oddity of the traffic or a limit of what could be seen.
// Every code stands in the catalogue of package analysis, which kdupscan explain prints.
type Code string

// Note is one occurrence (or Count occurrences) of a Code. All layers report oddities and limits as notes; the run goes on.
type Note struct {
	Code       Code
	At         Ref
	Offset     FileOffset // in the capture file, for damage; 0 elsewhere
	Connection string     // "client → server" where one is concerned
	Detail     string     // one line, may be empty
	Count      int64      // 0 counts as 1
}
