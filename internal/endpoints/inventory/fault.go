package inventory

import "errors"

// What may be wrong with a source, where that is more than that it cannot be read.
var (
	// ErrUnauthorized is about credentials that are not accepted, or lack a right.
	ErrUnauthorized = errors.New("the source refuses the credentials")
	// ErrIncomplete is about an answer that says less than it has to (contract 2).
	ErrIncomplete = errors.New("the answer of the source is incomplete")
)

// Fault says of which kind an error is, and leaves its text as it is.
func Fault(kind, err error) error { return &fault{err, kind} }

type fault struct {
	error
	kind error
}

// Unwrap returns both errors.
func (f *fault) Unwrap() []error { return []error{f.error, f.kind} }
