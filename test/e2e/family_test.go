package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// children are the processes that a process has as its own.
func children(t *testing.T, parent int) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	}
	return all
}

// stateOf is the letter that the kernel has for the state of a process, empty
// where it is gone.
func stateOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}
