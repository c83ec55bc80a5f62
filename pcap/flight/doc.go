// Package flight is a flight recorder: it keeps the last of what was captured in files of a folder, and sets aside those
// around a moment.
//
// In go frames, one after another. Out come pcapng files: in the folder itself a ring of recent ones, which together are
// never larger than Options.Size nor older than Options.Age, and in findings/NAME those that were kept, with documents.
//
// A file of the ring that is kept gets a second name (a hard link), so it costs nothing while the ring still has it. What
// was kept is never deleted here: once Options.KeepSize is reached, nothing more is.
//
// Frames are borrowed for the call. Files are written in whole blocks, so one that a crash has cut off can be read up to
// there; files of earlier runs are part of the ring. Times are capture times: no clock is read. A Recorder is for one
// goroutine, and starts none; calls wait for the disk.
package flight
