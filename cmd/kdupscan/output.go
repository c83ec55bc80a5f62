package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output is where a report goes. A file gets its name only when it is whole, so that a failed run leaves an older report
// as it was.
type output struct {
	io.Writer
	file *os.File // what to close; nil for standard output
	name string   // what to call the file when it is whole; "" when it has its name
}

// open returns the output of a scan of the given inputs. It fails early: before hours of reading.
func (o *scanOptions) open(stdout io.Writer, inputs []string) (*output, error) {
	if o.out == "" {
		return &output{Writer: stdout}, nil
	}
	name := o.out
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil {
		for _, input := range inputs {
			if other, err := os.Stat(input); err == nil && os.SameFile(info, other) {
				return nil, fmt.Errorf("--out %s is one of the captures to read", o.out)
			}
		}
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(name, os.O_WRONLY, 0) // a pipe or a device: there is nothing to keep
			return &output{Writer: f, file: f}, err
		}
	}
	part, err := os.OpenFile(name+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &output{Writer: part, file: part, name: name}, nil
}

// keep closes the output and gives the file its name.
func (o *output) keep() error {
	if o.file == nil {
		return nil
	}
	file := o.file
	o.file = nil
	if err := file.Close(); err != nil || o.name == "" {
		return err
	}
	return os.Rename(file.Name(), o.name)
}

// discard takes away what keep has not kept.
func (o *output) discard() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.name != "" {
		os.Remove(o.file.Name())
	}
}
