package system

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// groupProcess is a process of a group, as /proc shows it.
type groupProcess struct {
	pid, name string
	// state is one letter; D cannot be interrupted, Z has ended and is not yet
	// reaped.
	state string
}

// unkillable returns the processes of a group that do not end when they are killed.
func unkillable(group int) []groupProcess {
	if unix.Kill(-group, 0) != nil {
		return nil // none is there, or none that was ours to kill
	}
	return slices.DeleteFunc(processesOf(group), func(m groupProcess) bool { return m.state != "D" })
}

// describe names what is left of a group, those first that cannot be killed.
func describe(group int) string {
	left := processesOf(group)
	if len(left) == 0 {
		return fmt.Sprintf("process %d", group)
	}
	first := max(0, slices.IndexFunc(left, func(m groupProcess) bool { return m.state == "D" }))
	text := fmt.Sprintf("process %s (%s, state %s)", left[first].pid, printable(left[first].name), left[first].state)
	if len(left) > 1 {
		text += fmt.Sprintf(" and %d more", len(left)-1)
	}
	return text
}

// processesOf returns the processes of a group.
func processesOf(group int) []groupProcess {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var all []groupProcess
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		m, of, ok := parseStat(string(stat))
		if ok && of == group {
			all = append(all, m)
		}
	}
	return all
}

// parseStat reads the line that /proc shows of a process: its number, its name in
// parentheses, which may hold anything, its state, its parent and its group.
func parseStat(stat string) (m groupProcess, group int, ok bool) {
	pid, rest, ok := strings.Cut(stat, " (")
	end := strings.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return groupProcess{}, 0, false
	}
	fields := strings.Fields(rest[end+1:])
	if len(fields) < 3 {
		return groupProcess{}, 0, false
	}
	group, err := strconv.Atoi(fields[2])
	return groupProcess{pid: pid, name: rest[:end], state: fields[0]}, group, err == nil
}
