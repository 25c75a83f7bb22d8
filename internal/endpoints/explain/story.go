package explain

// Level is how much a log line matters.
type Level uint8

// The levels.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

// Line is one log line: a message that does not vary, and keys and values.
type Line struct {
	Level   Level
	Message string
	Args    []any
}

// Story is what one outcome is worth telling.
type Story struct {
	Lines   []Line
	Notices []Notice
	// Cycle is a read or a change that belongs to the list of the newest ones, nil
	// if there was none.
	Cycle *Cycle
}

// say adds a log line.
func (s *Story) say(level Level, message string, args ...any) {
	s.Lines = append(s.Lines, Line{level, message, args})
}

// announce adds notices.
func (s *Story) announce(notices ...Notice) { s.Notices = append(s.Notices, notices...) }
