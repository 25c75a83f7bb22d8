package files

import "time"

// Reading returns Read with another way to read.
func Reading(limit time.Duration, read func(path string) ([]byte, error)) func(path string) ([]byte, error) {
	r := &reads{limit: limit, read: func(of request) ([]byte, error) { return read(of.path) }}
	return func(path string) ([]byte, error) { return r.get(request{path: path}) }
}
