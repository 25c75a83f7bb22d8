// Package files reads small files that others write: tokens, certificates, lists. In
// goes a path, out comes what the file holds at that moment, or why it cannot be read.
// It reads nothing but regular files of a bounded size, writes nothing and remembers no
// content.
//
// The system ends no read of a file system that hangs. So each read has a goroutine of
// its own that is given up on, and a path has one of them at a time.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// limit is how long a file system may take.
const limit = 3 * time.Second

// ErrHangs says that a file was not read in time.
var ErrHangs = errors.New("it was not read in time; its file system may hang")

// all are the reads of this process: what hangs is the path, whoever asks.
var all = reads{read: read, limit: limit}

// Read returns what a regular file of at most so many bytes holds. The bytes are not
// to be changed.
func Read(path string, most int64) ([]byte, error) { return all.get(request{path, most}) }

// request is a file and how much of it is read at most.
type request struct {
	path string
	most int64
}

// reads are the reads under way.
type reads struct {
	read  func(request) ([]byte, error)
	limit time.Duration

	mu      sync.Mutex
	running map[request]*running
}

// running is a read that is under way, for everybody who asks meanwhile. What it found
// may be read once it is done.
type running struct {
	began   time.Time
	done    chan struct{}
	content []byte
	err     error
}

// get waits for the answer to a request, but not beyond the limit after the read
// began.
func (r *reads) get(of request) ([]byte, error) {
	one := r.start(of)
	timer := time.NewTimer(max(0, r.limit-time.Since(one.began)))
	defer timer.Stop()
	select {
	case <-one.done:
		return one.content, one.err
	case <-timer.C:
		return nil, &fs.PathError{Op: "read", Path: of.path, Err: ErrHangs}
	}
}

// start begins a read, unless one is under way.
func (r *reads) start(of request) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.running[of]; one != nil {
		return one
	}
	one := &running{began: time.Now(), done: make(chan struct{})}
	if r.running == nil {
		r.running = make(map[request]*running)
	}
	r.running[of] = one
	go func() {
		one.content, one.err = r.read(of)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, of)
		close(one.done)
	}()
	return one
}

// read reads a whole regular file.
func read(of request) ([]byte, error) {
	path, most := of.path, of.most
	// Without O_NONBLOCK, opening a FIFO waits for a writer, maybe for ever.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", most)}
	}
	return content, err
}
