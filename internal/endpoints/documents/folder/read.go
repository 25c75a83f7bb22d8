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
	"slices"
	"strings"
	"syscall"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// The bounds of a folder.
const (
	maxFiles = 1000
	maxBytes = 16 << 20
	// attempts is how often a folder that changes while it is read is read again.
	attempts = 3
)

// Read returns what is in the folder at one moment: what changed while it was read is
// read again, so that a document that moves from one file to another is in one of them.
func Read(ctx context.Context, dir string) documents.Folder {
	for range attempts {
		before, err := fingerprint(dir)
		if err != nil {
			return unreadable(err)
		}
		found, err := readAll(ctx, dir)
		if err != nil {
			return unreadable(err)
		}
		after, err := fingerprint(dir)
		if err != nil {
			return unreadable(err)
		}
		if slices.Equal(before, after) {
			return found
		}
	}
	return documents.Folder{
		Problem: "the folder DOCUMENTS_DIR changes all the time", Remedy: "replace its files at once, as a mounted ConfigMap does",
	}
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

// names lists the files with documents, sorted.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if isDocument(entry.Name()) {
			found = append(found, entry.Name())
		}
	}
	if len(found) > maxFiles {
		return nil, fmt.Errorf("it holds %d files, more than %d", len(found), maxFiles)
	}
	return found, nil
}

// fingerprint has a line for each file, and for where the link of a mounted ConfigMap
// leads. It is another one when something in the folder is.
func fingerprint(dir string) ([]string, error) {
	all, err := names(dir)
	if err != nil {
		return nil, err
	}
	data, _ := os.Readlink(filepath.Join(dir, "..data")) // where there is none, the files tell
	lines := []string{data}
	for _, name := range all {
		line := name
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil {
			line += " " + err.Error()
		} else {
			line += fmt.Sprint(" ", info.Size(), info.ModTime().UnixNano(), info.Mode(), inode(info))
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// inode tells a file from another one of the same size and time.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// readAll reads every file with documents. One that cannot be read is in the result.
func readAll(ctx context.Context, dir string) (documents.Folder, error) {
	all, err := names(dir)
	if err != nil {
		return documents.Folder{}, err
	}
	var found documents.Folder
	total := 0
	for _, name := range all {
		if err := ctx.Err(); err != nil {
			return documents.Folder{}, err
		}
		file := readFile(filepath.Join(dir, name))
		file.Name = name
		if total += len(file.Data); total > maxBytes {
			return documents.Folder{}, fmt.Errorf("its files hold more than %d MiB", maxBytes>>20)
		}
		found.Files = append(found.Files, file)
	}
	return found, nil
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
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return documents.File{Problem: "cannot be read: " + err.Error(), Remedy: "let this process read it, or remove it"}
}
