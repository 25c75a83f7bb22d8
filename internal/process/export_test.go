package process

// ParseStat reads a line of /proc; see parseStat.
func ParseStat(stat string) (pid, name, state string, group int, ok bool) {
	m, group, ok := parseStat(stat)
	return m.pid, m.name, m.state, group, ok
}
