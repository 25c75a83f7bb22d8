package source_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
)

const one = `[{"name": "w1", "private_ip": "10.0.0.1", "ready": true, "worker": true}]`

func encode(t *testing.T, nodes []inventory.Node) []byte {
	t.Helper()
	data, err := inventory.Encode(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newFile(files afero.Fs, path string) source.File { return source.File{FS: files, Path: path} }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformanceOfFile(t *testing.T) {
	for _, files := range []afero.Fs{afero.NewOsFs(), inMemory{afero.NewMemMapFs()}} {
		t.Run(files.Name(), func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Options{Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
				return fileHarness(t, files, nodes)
			}})
		})
	}
}

// inMemory opens for reading when any other flag is given too. Otherwise the memory
// file system would open for writing, and each close would set a new modification
// time.
type inMemory struct{ afero.Fs }

func (m inMemory) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	return m.Fs.OpenFile(name, flag&^syscall.O_NONBLOCK, perm)
}

func fileHarness(t *testing.T, files afero.Fs, nodes []inventory.Node) sourcetest.Harness {
	path := filepath.Join(t.TempDir(), "inventory.json")
	must(t, files.MkdirAll(filepath.Dir(path), 0o700))
	write := func(data []byte) {
		must(t, files.RemoveAll(path))
		must(t, afero.WriteFile(files, path, data, 0o600))
	}
	put := func(nodes []inventory.Node) { write(encode(t, nodes)) }
	put(nodes)
	whole := encode(t, nodes)
	return sourcetest.Harness{
		Source: newFile(files, path),
		Put:    put,
		Breaks: map[string]func(){
			"a missing file":      func() { must(t, files.Remove(path)) },
			"an empty file":       func() { write(nil) },
			"a truncated file":    func() { write(whole[:len(whole)/2]) },
			"a second document":   func() { write(append(bytes.Clone(whole), "[]"...)) },
			"a malformed record":  func() { write(bytes.Replace(whole, []byte(`"ready":true`), []byte(`"ready":1`), 1)) },
			"an unknown key":      func() { write(bytes.Replace(whole, []byte(`"ready"`), []byte(`"Ready"`), 1)) },
			"more than MaxBytes":  func() { write(append(bytes.Clone(whole), make([]byte, inventory.MaxBytes)...)) },
			"a folder in its way": func() { must(t, files.Remove(path)); must(t, files.Mkdir(path, 0o700)) },
		},
		NoStall: "a regular file answers at once, and nothing else is read",
	}
}

// Contract 2: each message names the file, the rule and the remedy.
func TestContract02ErrorsNameTheFileAndTheRemedy(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	must(t, os.Mkdir(at("folder"), 0o700))
	must(t, syscall.Mkfifo(at("fifo"), 0o600))
	must(t, os.WriteFile(at("empty"), nil, 0o600))
	must(t, os.WriteFile(at("unknown"), []byte(`[{"naem": "w1"}]`), 0o600))
	must(t, os.WriteFile(at("large"), make([]byte, inventory.MaxBytes+1), 0o600))
	must(t, os.Symlink("nowhere", at("dangling")))
	must(t, os.Symlink("loop", at("loop")))
	tests := []struct{ path, want string }{
		{at("missing"), "no such file or directory; create it, or correct INVENTORY_FILE_PATH"},
		{at("dangling"), "no such file or directory; create it, or correct INVENTORY_FILE_PATH"},
		{at("loop"), "too many levels of symbolic links"},
		{at("folder"), "it is not a regular file; correct INVENTORY_FILE_PATH"},
		{at("fifo"), "it is not a regular file; correct INVENTORY_FILE_PATH"},
		{"/dev/zero", "it is not a regular file; correct INVENTORY_FILE_PATH"},
		{at("empty"), "decode inventory: the document is empty; an inventory of no nodes is []"},
		{at("unknown"), `decode inventory: record 1, line 1, column 3: unknown key "naem"; `},
		{at("large"), "decode inventory: the document is larger than 8388608 bytes; "},
	}
	for _, test := range tests {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			nodes, err := newFile(afero.NewOsFs(), test.path).Read(ctx)
			if nodes != nil || err == nil {
				t.Fatalf("got %v, %v, want an error", nodes, err)
			}
			if !strings.HasPrefix(err.Error(), `inventory file "`+test.path+`": `) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want the path and %q", err, test.want)
			}
		})
	}
}

func TestContract02AnUnreadableFileIsAnError(t *testing.T) {
	// Root may read everything, so the file system refuses.
	files := failingFs{Fs: afero.NewMemMapFs(), err: fs.ErrPermission}
	_, err := newFile(files, "/inventory.json").Read(t.Context())
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got error %v, want fs.ErrPermission", err)
	}
}

// failingFs refuses to open anything.
type failingFs struct {
	afero.Fs
	err error
}

func (f failingFs) OpenFile(name string, _ int, _ os.FileMode) (afero.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
}

func TestContract04AConfigMapThatIsSwitchedIsReadAgain(t *testing.T) {
	mount := t.TempDir()
	publish := func(version, content string) {
		must(t, os.Mkdir(filepath.Join(mount, version), 0o700))
		must(t, os.WriteFile(filepath.Join(mount, version, "inventory.json"), []byte(content), 0o600))
		must(t, os.Symlink(version, filepath.Join(mount, "..data_tmp")))
		must(t, os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")))
	}
	publish("..2026_01_01", one)
	must(t, os.Symlink(filepath.Join("..data", "inventory.json"), filepath.Join(mount, "inventory.json")))
	source := newFile(afero.NewOsFs(), filepath.Join(mount, "inventory.json"))
	for i, content := range []string{one, strings.Replace(one, "w1", "w2", 1), "[]"} {
		if i > 0 {
			publish("..2026_01_0"+string(rune('1'+i)), content)
			must(t, os.RemoveAll(filepath.Join(mount, "..2026_01_0"+string(rune('0'+i)))))
		}
		got, err := source.Read(t.Context())
		must(t, err)
		want, err := inventory.Decode([]byte(content))
		must(t, err)
		if string(encode(t, got)) != string(encode(t, want)) {
			t.Errorf("version %d: got %+v, want %+v", i, got, want)
		}
	}
}

// interferenceFs calls meanwhile during the first read of each file.
type interferenceFs struct {
	afero.Fs
	meanwhile func()
}

func (i interferenceFs) OpenFile(name string, flag int, mode os.FileMode) (afero.File, error) {
	f, err := i.Fs.OpenFile(name, flag, mode)
	return &interferenceFile{File: f, meanwhile: i.meanwhile}, err
}

type interferenceFile struct {
	afero.File
	meanwhile func()
}

func (f *interferenceFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if f.meanwhile != nil {
		f.meanwhile()
		f.meanwhile = nil
	}
	return n, err
}

func TestContract02AFileWrittenDuringTheReadIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inventory.json")
	long := time.Unix(1, 0)
	tests := []struct {
		name, content string
		modified      time.Time
		fails         bool
	}{
		{"nothing new", one, long, false},
		{"as long as before", strings.Replace(one, "w1", "w2", 1), time.Now(), true},
		{"in the same tick of the clock", one + "\n", long, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			must(t, os.WriteFile(path, []byte(one), 0o600))
			must(t, os.Chtimes(path, time.Time{}, long))
			_, err := newFile(interferenceFs{afero.NewOsFs(), func() {
				must(t, os.WriteFile(path, []byte(test.content), 0o600))
				must(t, os.Chtimes(path, time.Time{}, test.modified))
			}}, path).Read(t.Context())
			if got, want := err != nil && strings.Contains(err.Error(), "it was written while it was read"), test.fails; got != want {
				t.Errorf("got error %v, want one: %t", err, want)
			}
		})
	}
}

// A new file in its place is what the remedy asks for: the old one was whole.
func TestAFileReplacedDuringTheReadIsReadAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inventory.json")
	must(t, os.WriteFile(path, []byte(one), 0o600))
	got, err := newFile(interferenceFs{afero.NewOsFs(), func() {
		must(t, os.WriteFile(path+".new", []byte("[]"), 0o600))
		must(t, os.Rename(path+".new", path))
	}}, path).Read(t.Context())
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v, want the one node of the old file", got, err)
	}
}

func TestContract03AReadStopsWhenItsContextEnds(t *testing.T) {
	files := afero.NewMemMapFs()
	must(t, afero.WriteFile(files, "/inventory.json", bytes.Repeat([]byte(" "), 1<<20), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := newFile(interferenceFs{files, cancel}, "/inventory.json").Read(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
	_, err = newFile(failingFs{files, errors.New("touched")}, "/inventory.json").Read(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled and no attempt", err)
	}
}
