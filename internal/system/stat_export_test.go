//go:build linux

package system

// ParseStat reads a line of /proc; see parseStat.
func ParseStat(stat string) (pid int, name, state string, group int, ok bool) {
	p, ok := parseStat(stat)
	return p.pid, p.name, p.state, p.group, ok
}
