package system

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

// fileLimit is how long a file system may take.
const fileLimit = 3 * time.Second

// ErrHangs says that a file was not read in time.
var ErrHangs = errors.New("it was not read in time; its file system may hang")

// ownReads are the reads of this process: what hangs is the path, whoever asks.
var ownReads = fileReads{read: readFile, limit: fileLimit, running: make(map[fileRequest]*fileRead)}

// ReadFile returns what a regular file of at most so many bytes holds. The bytes are not
// to be changed.
func ReadFile(path string, most int64) ([]byte, error) { return ownReads.get(fileRequest{path, most}) }

// fileRequest is a file and how much of it is read at most.
type fileRequest struct {
	path string
	most int64
}

// fileReads are the reads under way.
type fileReads struct {
	read  func(fileRequest) ([]byte, error)
	limit time.Duration

	mu      sync.Mutex
	running map[fileRequest]*fileRead
}

// fileRead is a read that is under way, for everybody who asks meanwhile. What it found
// may be read once it is done.
type fileRead struct {
	began   time.Time
	done    chan struct{}
	content []byte
	err     error
}

// get waits for the answer to a request, but not beyond the limit after the read
// began.
func (r *fileReads) get(of fileRequest) ([]byte, error) {
	one := r.start(of)
	select {
	case <-one.done:
		return one.content, one.err
	case <-time.After(max(0, r.limit-time.Since(one.began))):
		return nil, &fs.PathError{Op: "read", Path: of.path, Err: ErrHangs}
	}
}

// start begins a read, unless one is under way.
func (r *fileReads) start(of fileRequest) *fileRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.running[of]; one != nil {
		return one
	}
	one := &fileRead{began: time.Now(), done: make(chan struct{})}
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

// readFile reads a whole regular file.
func readFile(of fileRequest) ([]byte, error) {
	// Without O_NONBLOCK, opening a FIFO waits for a writer, maybe for ever.
	file, err := os.OpenFile(of.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: of.path, Err: errors.New("not a regular file")}
	}
	content, err := io.ReadAll(io.LimitReader(file, of.most+1))
	if err == nil && int64(len(content)) > of.most {
		return nil, &fs.PathError{Op: "read", Path: of.path, Err: fmt.Errorf("larger than %d bytes", of.most)}
	}
	return content, err
}
