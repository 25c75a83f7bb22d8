package folder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/folder"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pool(name string) string {
	return "---\napiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointPool\nmetadata: {name: " + name +
		"}\nspec:\n  source: {file: {path: /x}}\n  subnets: [10.0.0.0/24]\n"
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// names returns the documents of a set, with those that are kept marked.
func names(set documents.Set) string {
	var all []string
	for _, e := range set.Entries {
		name := e.Key.Name
		if e.Kept {
			name += " kept"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func TestOnlyFilesOfDocumentsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yml", "c.json", "README.md", ".hidden.yaml", "d.yaml~", "e"} {
		write(t, dir, name, "")
	}
	var got []string
	found := folder.Read(t.Context(), dir)
	for _, file := range found.Files {
		got = append(got, file.Name)
	}
	if diff := cmp.Diff([]string{"a.yaml", "b.yml", "c.json"}, got); diff != "" || found.Problem != "" {
		t.Errorf("%s (-want +got):\n%s", found.Problem, diff)
	}
}

func TestContract45WhatCannotBeReadIsNotGone(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, dir string){
		"a folder of that name": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
			must(t, os.Mkdir(filepath.Join(dir, "a.yaml"), 0o700))
		},
		"a FIFO": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
			must(t, syscall.Mkfifo(filepath.Join(dir, "a.yaml"), 0o600))
		},
		"a link that leads nowhere": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
			must(t, os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")))
		},
		"too large": func(t *testing.T, dir string) {
			t.Helper()
			write(t, dir, "a.yaml", pool("a")+strings.Repeat("#", documents.MaxFileBytes))
		},
		"half written": func(t *testing.T, dir string) {
			t.Helper()
			write(t, dir, "a.yaml", pool("a")[:70])
		},
		"the folder is gone": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.RemoveAll(dir))
		},
		"the folder is empty": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, "a.yaml")))
			must(t, os.Remove(filepath.Join(dir, "b.yaml")))
		},
		"the folder is a file": func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.RemoveAll(dir))
			write(t, filepath.Dir(dir), filepath.Base(dir), "")
		},
		"too many files": func(t *testing.T, dir string) {
			t.Helper()
			for i := range 1001 {
				write(t, dir, fmt.Sprint(i, ".yaml"), "")
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "documents")
			must(t, os.Mkdir(dir, 0o700))
			write(t, dir, "a.yaml", pool("a"))
			write(t, dir, "b.yaml", pool("b"))
			good := documents.Advance(documents.Set{}, folder.Read(t.Context(), dir))
			change(t, dir)
			set := documents.Advance(good, folder.Read(t.Context(), dir))
			if got := names(set); set.Complete || !strings.Contains(got, "a kept") || !strings.Contains(got, "b") || len(set.Mistakes) == 0 {
				t.Errorf("got %q, complete %t, mistakes %v", got, set.Complete, set.Mistakes)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatIsGoneIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", pool("a"))
	write(t, dir, "b.yaml", pool("b"))
	good := documents.Advance(documents.Set{}, folder.Read(t.Context(), dir))
	must(t, os.Remove(filepath.Join(dir, "a.yaml")))
	set := documents.Advance(good, folder.Read(t.Context(), dir))
	if names(set) != "b" || !set.Complete {
		t.Errorf("got %q, %v", names(set), set.Mistakes)
	}
}

// mount makes dir a mounted ConfigMap with these files, as the kubelet does: a folder
// of its own for each version, and a link that is replaced at once.
func mount(t *testing.T, dir string, version int, files map[string]string) {
	t.Helper()
	data := fmt.Sprintf("..%d", version)
	must(t, os.Mkdir(filepath.Join(dir, data), 0o700))
	for name, text := range files {
		write(t, filepath.Join(dir, data), name, text)
		if err := os.Symlink("..data/"+name, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	must(t, os.Symlink(data, filepath.Join(dir, "..data_tmp")))
	must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

func TestContract45AMountedConfigMapIsReadAsOfOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, dir, 0, map[string]string{"a.yaml": pool("moving"), "b.yaml": pool("b")})
	ctx, cancel := context.WithCancel(t.Context())
	swapped := make(chan error, 1)
	go func() {
		var err error
		for i := 1; ctx.Err() == nil && err == nil; i++ {
			first, second := pool("moving"), pool("b")
			if i%2 == 1 {
				first, second = "# empty\n", pool("b")+pool("moving")
			}
			data := filepath.Join(dir, fmt.Sprintf("..%d", i%3+1))
			_ = os.RemoveAll(data)
			err = os.Mkdir(data, 0o700)
			for name, text := range map[string]string{"a.yaml": first, "b.yaml": second} {
				if err == nil {
					err = os.WriteFile(filepath.Join(data, name), []byte(text), 0o600)
				}
			}
			if err == nil {
				err = os.Symlink(filepath.Base(data), filepath.Join(dir, "..data_tmp"))
			}
			if err == nil {
				err = os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
			}
		}
		swapped <- err
	}()
	var set documents.Set
	for range 500 {
		set = documents.Advance(set, folder.Read(t.Context(), dir))
		if got := names(set); len(set.Entries) > 0 && (!strings.HasPrefix(got, "b") || !strings.Contains(got, "moving")) {
			t.Errorf("got %q: a document vanished while it moved from one file to another", got)
			break
		}
	}
	cancel()
	must(t, <-swapped)
	if set = documents.Advance(set, folder.Read(t.Context(), dir)); !set.Complete || len(set.Entries) != 2 {
		t.Errorf("got %q, complete %t, once it stands still", names(set), set.Complete)
	}
}

func TestAChangeIsSeenWithoutARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bubble.Test(t, func(t *testing.T) {
		write(t, dir, "a.yaml", pool("a"))
		w := folder.New(dir, folder.Look)
		if w.Set().Complete {
			t.Error("a set is complete before the first look")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		<-w.Changed()
		if got := names(w.Set()); got != "a" {
			t.Errorf("got %q, want a", got)
		}
		write(t, dir, "b.yaml", pool("b"))
		for names(w.Set()) != "a, b" {
			<-w.Changed()
		}
		cancel()
		must(t, <-ended)
	})
}

func TestContract45AVolumeThatHangsTakesNothingAway(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		answer := make(chan struct{})
		w := folder.New("/documents", func(context.Context, string) documents.Folder {
			if hangs.Load() {
				<-answer
			}
			return documents.Folder{Files: []documents.File{{Name: "a.yaml", Data: []byte(pool("a"))}}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		<-w.Changed()
		hangs.Store(true)
		start := time.Now()
		<-w.Changed()
		if set := w.Set(); names(set) != "a kept" || set.Complete || time.Since(start) != 12*time.Second {
			t.Errorf("got %q after %v, complete %t", names(set), time.Since(start), set.Complete)
		}
		hangs.Store(false)
		answer <- struct{}{}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		if set := w.Set(); names(set) != "a" || !set.Complete {
			t.Errorf("after it answers: got %q, complete %t", names(set), set.Complete)
		}
		cancel()
		must(t, <-ended)
	})
}

func TestContract45AFileThatIsBeingWrittenTakesNothingAway(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		whole := pool("a") + pool("b")
		var written atomic.Int64
		written.Store(int64(len(whole)))
		w := folder.New("/documents", func(context.Context, string) documents.Folder {
			return documents.Folder{Files: []documents.File{{Name: "a.yaml", Data: []byte(whole[:written.Load()])}}}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		<-w.Changed()
		// The file is written anew, from its beginning: its first half is valid.
		for n := range int64(len(whole)) {
			written.Store(n)
			time.Sleep(50 * time.Millisecond)
			if got := names(w.Set()); got != "a, b" {
				t.Fatalf("after %d bytes: got %q", n, got)
			}
		}
		written.Store(int64(len(pool("a"))))
		time.Sleep(3 * time.Second)
		if got := names(w.Set()); got != "a" {
			t.Errorf("when it stays so: got %q, want a", got)
		}
		cancel()
		must(t, <-ended)
	})
}
