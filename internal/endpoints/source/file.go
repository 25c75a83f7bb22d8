package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// File reads a file anew in every read, which need not be there before.
type File struct {
	FS afero.Fs
	// Path is the inventory. It may be a symbolic link, as the keys of a
	// mounted ConfigMap are, and is followed again for every read.
	Path string
}

// Read returns the nodes that the file lists.
func (s File) Read(ctx context.Context) ([]inventory.Node, error) {
	data, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory file %q: %w", s.Path, err)
	}
	nodes, err := inventory.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("inventory file %q: %w", s.Path, err)
	}
	return nodes, nil
}

// load returns the file's bytes as they were at one moment.
func (s File) load(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a FIFO waits for a writer, maybe for ever.
	f, err := s.FS.OpenFile(s.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; create it, or correct INVENTORY_FILE_PATH", err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file; correct INVENTORY_FILE_PATH")
	}
	// One byte more than the decoder accepts is enough.
	data, err := io.ReadAll(io.LimitReader(f, inventory.MaxBytes+1))
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		return nil, errors.New("it was written while it was read; write a new file beside it and rename that over it")
	}
	return data, nil
}
