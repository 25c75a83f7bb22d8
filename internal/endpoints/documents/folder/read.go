package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// The bounds of a folder.
const (
	maxFiles = 1000
	maxBytes = 16 << 20
	// attempts is how often a folder that changes while it is read is read.
	attempts = 4
)

// Read returns what is in the folder at one moment: what two looks in a row find alike, so
// that a document that moves from one file to another is in one of them.
func Read(ctx context.Context, dir string) documents.Folder {
	last := Look(ctx, dir)
	for range attempts {
		found := Look(ctx, dir)
		if reflect.DeepEqual(found, last) {
			return found
		}
		last = found
	}
	return changing()
}

func changing() documents.Folder {
	return documents.Folder{
		Problem: "the folder DOCUMENTS_DIR changes all the time", Remedy: "replace its files at once, as a mounted ConfigMap does",
	}
}

// Look reads the folder once. While its files change, one look may miss a document; not where it
// is a mounted ConfigMap, whose files are those of the folder that the link ..data names.
func Look(ctx context.Context, dir string) documents.Folder {
	link := filepath.Join(dir, "..data")
	version, err := os.Open(link) // while it is open, no later version has its inode
	if err == nil {
		defer version.Close()
	}
	found, err := readAll(ctx, dir)
	switch {
	case err != nil:
		return unreadable(err)
	case version != nil && !names(link, version):
		return changing()
	}
	return found
}

// names reports whether a path is that of an open file.
func names(path string, f *os.File) bool {
	there, err := os.Stat(path)
	same, failed := f.Stat()
	return err == nil && failed == nil && os.SameFile(there, same)
}

func unreadable(err error) documents.Folder {
	if errors.Is(err, fs.ErrNotExist) {
		return documents.Folder{Problem: "the folder DOCUMENTS_DIR is not there (" + err.Error() + ")", Remedy: "mount it, or correct DOCUMENTS_DIR"}
	}
	return documents.Folder{Problem: "the folder DOCUMENTS_DIR cannot be read: " + err.Error(), Remedy: "let this process read it"}
}

// isDocument reports whether a name is one of a file with documents. Names that begin
// with a dot are those that a mounted ConfigMap is made of, and of editors.
func isDocument(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// readAll reads every file with documents. One that cannot be read is in the result.
func readAll(ctx context.Context, dir string) (documents.Folder, error) {
	entries, err := os.ReadDir(dir)
	found := documents.Folder{Files: []documents.File{}}
	total := 0
	for _, entry := range entries {
		if !isDocument(entry.Name()) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return found, err
		}
		file := readFile(filepath.Join(dir, entry.Name()))
		file.Name = entry.Name()
		found.Files = append(found.Files, file)
		if total += len(file.Data); total > maxBytes {
			return found, fmt.Errorf("its files hold more than %d MiB", maxBytes>>20)
		}
		if len(found.Files) > maxFiles {
			return found, fmt.Errorf("it holds more than %d files", maxFiles)
		}
	}
	return found, err
}

// readFile reads one file, and one byte more than a file may hold.
func readFile(path string) documents.File {
	// Without O_NONBLOCK, opening a FIFO waits for a writer, maybe for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return broken(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return broken(err)
	}
	if !info.Mode().IsRegular() {
		return documents.File{Problem: "is not a regular file", Remedy: "put the documents into a file of this name, or rename it"}
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(f, documents.MaxFileBytes+1)); err != nil {
		return broken(err)
	}
	if data.Len() > documents.MaxFileBytes {
		return documents.File{Problem: "holds more than 1 MiB", Remedy: "split it into several files"}
	}
	return documents.File{Data: data.Bytes()}
}

func broken(err error) documents.File {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return documents.File{Problem: "cannot be read: " + err.Error(), Remedy: "let this process read it, or remove it"}
}
