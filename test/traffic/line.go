package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line writes a result as a line of text, for another process. [ParseLine]
// reads it.
func (r Result) Line() string {
	return fmt.Sprintf("%d %d %d %q %q\n", r.Start.UnixNano(), r.Late, r.Took, r.Backend, r.Failure)
}

// ParseLine reads what [Result.Line] wrote.
func ParseLine(line string) (Result, error) {
	fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
	if len(fields) != 4 {
		return Result{}, fmt.Errorf("parse result %q: want five fields", line)
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return Result{}, fmt.Errorf("parse result %q: %w", line, err)
		}
		numbers[i] = n
	}
	r := Result{Start: time.Unix(0, numbers[0]), Late: time.Duration(numbers[1]), Took: time.Duration(numbers[2])}
	backend, err := strconv.QuotedPrefix(fields[3])
	if err != nil {
		return Result{}, fmt.Errorf("parse result %q: %w", line, err)
	}
	rest := strings.TrimSpace(strings.TrimPrefix(fields[3], backend))
	if r.Backend, err = strconv.Unquote(backend); err != nil {
		return Result{}, fmt.Errorf("parse result %q: %w", line, err)
	}
	if r.Failure, err = strconv.Unquote(rest); err != nil {
		return Result{}, fmt.Errorf("parse result %q: %w", line, err)
	}
	return r, nil
}
