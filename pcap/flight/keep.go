package flight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// ErrKeepFull is the error of Keep when Options.KeepSize does not allow for more.
var ErrKeepFull = errors.New("no room for what is to be kept")

// findings is the folder of what is kept.
const findings = "findings"

// keeper is what a Recorder knows of what is kept.
type keeper struct {
	kept     map[string]int64 // size of each file that is kept, by its name: several findings may share it
	keptSize int64            // of these and the documents; a file being written counts as full
	waiting  []moment
	late     error // see KeepError
}

// moment is what is to be kept once it is recorded.
type moment struct {
	dir      string
	from, to pcap.Timestamp
}

// KeptSize returns the length of what is kept.
func (r *Recorder) KeptSize() int64 { return r.keptSize }

// Keep sets aside the packets between two times, those to be recorded included, and documents beside them, as
// Dir/findings/name. It may be called again for a name, with newer documents and other times. The first error is returned;
// as much as possible is kept nonetheless.
func (r *Recorder) Keep(name string, from, to pcap.Timestamp, documents map[string][]byte) error {
	if err := r.survey(); err != nil {
		return err
	}
	dir := filepath.Join(r.options.Dir, findings, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var first error
	for document, content := range documents {
		if err := r.document(filepath.Join(dir, document), content); err != nil && first == nil {
			first = err
		}
	}
	for _, f := range r.overlapping(from, to) {
		if err := r.link(f, dir); err != nil && first == nil {
			first = err
		}
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(m moment) bool { return m.dir == dir })
	r.waiting = append(r.waiting, moment{dir, from, to})
	return first
}

// survey finds what earlier runs have kept.
func (r *Recorder) survey() error {
	if r.kept != nil {
		return nil
	}
	kept := map[string]int64{}
	var size int64
	err := filepath.WalkDir(filepath.Join(r.options.Dir, findings), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if _, known := kept[d.Name()]; known {
			return nil // a second name of one file
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if _, ring := timeOf(d.Name()); ring {
			kept[d.Name()] = info.Size()
		}
		size += info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	r.kept, r.keptSize = kept, size
	return nil
}

// document writes one, in place of an older one of that name.
func (r *Recorder) document(path string, content []byte) error {
	var old int64
	if info, err := os.Stat(path); err == nil {
		old = info.Size()
	}
	grows := int64(len(content)) - old
	if r.keptSize+grows > r.options.KeepSize {
		return ErrKeepFull
	}
	part := path + ".part"
	if err := os.WriteFile(part, content, 0o600); err != nil {
		_ = os.Remove(part)
		return err
	}
	r.keptSize += grows
	return os.Rename(part, path)
}

// link gives a file of the ring its second name.
func (r *Recorder) link(f *file, dir string) error {
	size := f.size
	if r.writer != nil && f == r.files[len(r.files)-1] {
		size = r.fileSize()
	}
	_, known := r.kept[f.name]
	if !known && r.keptSize+size > r.options.KeepSize {
		return ErrKeepFull
	}
	if err := os.Link(r.path(f), filepath.Join(dir, f.name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !known {
		r.kept[f.name] = size
		r.keptSize += size
	}
	return nil
}

// linkOpened keeps the file that has just been begun, where a moment waits for it.
func (r *Recorder) linkOpened() {
	opened := r.files[len(r.files)-1]
	r.waiting = slices.DeleteFunc(r.waiting, func(m moment) bool { return opened.first > m.to })
	for _, m := range r.waiting {
		if err := r.link(opened, m.dir); err != nil && r.late == nil {
			r.late = err
		}
	}
}

// KeepError returns the first error, since it was last asked for, of keeping what was recorded after the call of Keep.
func (r *Recorder) KeepError() error {
	err := r.late
	r.late = nil
	return err
}

// linkClosed counts the true size of a file that is kept.
func (r *Recorder) linkClosed(f *file) {
	if counted, known := r.kept[f.name]; known {
		r.kept[f.name] = f.size
		r.keptSize += f.size - counted
	}
}
