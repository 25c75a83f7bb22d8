package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// member is a process of a group, as /proc shows it.
type member struct {
	pid, name string
	// state is one letter; D cannot be interrupted, Z has ended and is not yet
	// reaped.
	state string
}

// unkillable returns the members of a group that do not end when they are killed.
func unkillable(group int) []member {
	if unix.Kill(-group, 0) != nil {
		return nil // none is there, or none that was ours to kill
	}
	return slices.DeleteFunc(members(group), func(m member) bool { return m.state != "D" })
}

// describe names what is left of a group, those first that cannot be killed.
func describe(group int) string {
	left := members(group)
	if len(left) == 0 {
		return fmt.Sprintf("process %d", group)
	}
	first := max(0, slices.IndexFunc(left, func(m member) bool { return m.state == "D" }))
	text := fmt.Sprintf("process %s (%s, state %s)", left[first].pid, printable(left[first].name), left[first].state)
	if len(left) > 1 {
		text += fmt.Sprintf(" and %d more", len(left)-1)
	}
	return text
}

// members returns the processes of a group.
func members(group int) []member {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var all []member
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
func parseStat(stat string) (m member, group int, ok bool) {
	pid, rest, ok := strings.Cut(stat, " (")
	end := strings.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return member{}, 0, false
	}
	fields := strings.Fields(rest[end+1:])
	if len(fields) < 3 {
		return member{}, 0, false
	}
	group, err := strconv.Atoi(fields[2])
	return member{pid: pid, name: rest[:end], state: fields[0]}, group, err == nil
}
