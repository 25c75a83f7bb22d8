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
	source, _ := r.Source.MarshalText() // never fails
	return fmt.Sprintf("%d %d %d %q %q %q %q\n", r.Start.UnixNano(), r.Late, r.Took, r.Method, source, r.Backend, r.Failure)
}

// ParseLine reads what [Result.Line] wrote.
func ParseLine(line string) (Result, error) {
	fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
	if len(fields) != 4 {
		return Result{}, fmt.Errorf("parse result %q: want seven fields", line)
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
	var source string
	if err := quoted(fields[3], &r.Method, &source, &r.Backend, &r.Failure); err != nil {
		return Result{}, fmt.Errorf("parse result %q: %w", line, err)
	}
	return r, r.Source.UnmarshalText([]byte(source))
}

// quoted reads quoted texts with spaces between them.
func quoted(text string, into ...*string) error {
	for _, one := range into {
		prefix, err := strconv.QuotedPrefix(text)
		if err != nil {
			return err
		}
		if *one, err = strconv.Unquote(prefix); err != nil {
			return err
		}
		text = strings.TrimSpace(text[len(prefix):])
	}
	if text != "" {
		return fmt.Errorf("%q is too much", text)
	}
	return nil
}
