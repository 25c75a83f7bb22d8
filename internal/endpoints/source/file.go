package source

import (
	"bytes"
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

// FileOptions say what to read.
type FileOptions struct {
	FS afero.Fs
	// Path is the inventory. It may be a symbolic link, as the keys of a
	// mounted ConfigMap are, and is followed again for every read.
	Path string
}

// File reads the file anew in every read.
type File struct{ options FileOptions }

// NewFile checks the options. The file need not be there yet.
func NewFile(options FileOptions) (*File, error) {
	if options.FS == nil {
		return nil, errors.New("inventory file: no file system is given")
	}
	if options.Path == "" {
		return nil, errors.New("inventory file: the path is empty; set INVENTORY_FILE_PATH")
	}
	return &File{options: options}, nil
}

// Read returns the nodes that the file lists.
func (s *File) Read(ctx context.Context) ([]inventory.Node, error) {
	data, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory file %q: %w", s.options.Path, err)
	}
	nodes, err := inventory.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("inventory file %q: %w", s.options.Path, err)
	}
	return nodes, nil
}

// load returns the file's bytes as they were at one moment.
func (s *File) load(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a FIFO waits for a writer, maybe for ever.
	f, err := s.options.FS.OpenFile(s.options.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
		return nil, fmt.Errorf("it is %s, must be a regular file; correct INVENTORY_FILE_PATH", kind(before.Mode()))
	}
	data, err := readAll(ctx, f)
	if err != nil {
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

// readAll reads to the end, or one byte further than the decoder accepts, and
// stops when the context ends.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	var data bytes.Buffer
	rest := io.LimitReader(r, inventory.MaxBytes+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, err := io.CopyN(&data, rest, 64<<10)
		if errors.Is(err, io.EOF) {
			return data.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// kind names what is not a regular file.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of type " + mode.Type().String()
}
