package system

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// process is what /proc shows of one.
type process struct {
	pid  int
	name string
	// state is one letter; D cannot be interrupted, Z has ended and is not yet
	// reaped.
	state                  string
	parent, group, session int
}

// unkillable returns the processes of a group that do not end when they are killed.
func unkillable(group int) []process {
	if unix.Kill(-group, 0) != nil {
		return nil // none is there, or none that was ours to kill
	}
	return processes(func(p process) bool { return p.group == group && p.state == "D" })
}

// describe names what is left of a group, those first that cannot be killed.
func describe(group int) string {
	left := processes(func(p process) bool { return p.group == group })
	if len(left) == 0 {
		return fmt.Sprintf("process %d", group)
	}
	first := max(0, slices.IndexFunc(left, func(p process) bool { return p.state == "D" }))
	text := fmt.Sprintf("process %d (%s, state %s)", left[first].pid, printable(left[first].name), left[first].state)
	if len(left) > 1 {
		text += fmt.Sprintf(" and %d more", len(left)-1)
	}
	return text
}

// processes returns those that are chosen.
func processes(chosen func(process) bool) []process {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var all []process
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(string(stat)); ok && chosen(p) {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads the line that /proc shows of a process: its number, its name in
// parentheses, which may hold anything, its state, its parent, its group and its session.
func parseStat(stat string) (p process, ok bool) {
	begin, end := strings.Index(stat, " ("), strings.LastIndexByte(stat, ')')
	if begin < 0 || end < begin {
		return process{}, false
	}
	p.name = stat[begin+len(" (") : end]
	_, err := fmt.Sscan(stat[:begin]+stat[end+1:], &p.pid, &p.state, &p.parent, &p.group, &p.session)
	return p, err == nil
}
