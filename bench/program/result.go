package program

import (
	"fmt"
	"time"
)

// Result prints what was measured as a benchmark would: values and units in turn.
func Result(name string, iterations int, values ...any) {
	line := fmt.Sprintf("Benchmark%s %d", name, iterations)
	for i := 0; i+1 < len(values); i += 2 {
		switch v := values[i].(type) {
		case time.Duration:
			line += fmt.Sprintf(" %d %v", v.Nanoseconds(), values[i+1])
		case float64:
			line += fmt.Sprintf(" %.4g %v", v, values[i+1])
		default:
			line += fmt.Sprintf(" %v %v", v, values[i+1])
		}
	}
	fmt.Println(line)
}
