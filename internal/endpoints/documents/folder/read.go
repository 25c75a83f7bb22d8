package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
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

// readFile reads one file.
func readFile(path string) documents.File {
	data, err := system.ReadFile(path, documents.MaxFileBytes)
	if err == nil {
		return documents.File{Data: data}
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return documents.File{Problem: "cannot be read: " + err.Error(), Remedy: "make it a file of at most 1 MiB that this process may read, or remove it"}
}
