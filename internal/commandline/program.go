package commandline

import (
	"fmt"
	"io"
	"strings"
)

// Program is a program as its surroundings see it.
type Program struct {
	// Version is what --version prints.
	Version string
	// Environ is the environment as NAME=value.
	Environ []string
	// Stdout takes data, Stderr messages and logs.
	Stdout, Stderr io.Writer
}

// Variable returns what an environment says of a name, empty if nothing. Of a name that stands
// twice the first counts, as it does for os.Getenv.
func Variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// ExitError is an error that knows its exit status. Its Err may be nil: then everything was
// said already.
type ExitError struct {
	Code int
	Err  error
}

// Exit returns an error with an exit status.
func Exit(code int, err error) *ExitError { return &ExitError{Code: code, Err: err} }

// Error returns the text of the error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error.
func (e *ExitError) Unwrap() error { return e.Err }
