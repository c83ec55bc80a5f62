package main

import (
	"context"
	"io"
	"os"
	"slices"
)

// interruptible returns a reader of what r gives that ends when ctx does: a read of a terminal or a pipe cannot be interrupted,
// so it is left to a goroutine of its own.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(in, onlyReader{r}, make([]byte, 1<<20))
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.Close() })
	return out
}

// onlyReader hides the WriteTo of files, which copies in small pieces.
type onlyReader struct{ io.Reader }

// stdin returns the standard input for paths that name it. Regular files are read as they are.
func stdin(ctx context.Context, r io.Reader, paths []string) io.Reader {
	if !slices.Contains(paths, "-") {
		return r
	}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return r
		}
	}
	return interruptible(ctx, r)
}
