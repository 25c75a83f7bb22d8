package system

import "time"

// Reading returns ReadFile with another way to read.
func Reading(limit time.Duration, read func(path string) ([]byte, error)) func(path string) ([]byte, error) {
	r := &fileReads{limit: limit, running: make(map[fileRequest]*fileRead), read: func(of fileRequest) ([]byte, error) { return read(of.path) }}
	return func(path string) ([]byte, error) { return r.get(fileRequest{path: path}) }
}
