package settings

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
)

// SourceKind says where the nodes of the remote cluster come from.
type SourceKind string

// The kinds of sources.
const (
	SourceStatic     SourceKind = "static"
	SourceFile       SourceKind = "file"
	SourceCommand    SourceKind = "command"
	SourceIONOS      SourceKind = "ionos"
	SourceKubernetes SourceKind = "kubernetes"
)

// StoreKind says where the slices are written.
type StoreKind string

// The kinds of stores.
const (
	StoreMemory   StoreKind = "memory"
	StoreKubectl  StoreKind = "kubectl"
	StoreClientGo StoreKind = "client-go"
)

// HealthMode says how a backend is checked.
type HealthMode string

// The modes of the health check.
const (
	HealthOff   HealthMode = "off"
	HealthTCP   HealthMode = "tcp"
	HealthHTTPS HealthMode = "https"
)

// LogLevel is the least level that is logged.
type LogLevel string

// Level returns the level as slog knows it.
func (l LogLevel) Level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(l)) // the words are those of slog
	return level
}

// LogFormat is the form of the log's lines.
type LogFormat string

// The formats of the log.
const (
	// LogAuto is text on a terminal and JSON elsewhere.
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
)

// choose sets a text to value if that is one of the choices.
func choose(target reflect.Value, value string, choices []string) error {
	if slices.Contains(choices, value) {
		target.SetString(value)
		return nil
	}
	p := Problem{Rule: "is not one of " + Listed(choices, "or"), Remedy: "choose one of them"}
	if near := Nearest(strings.ToLower(value), choices); near != "" {
		p.Remedy = "did you mean " + near + "?"
	}
	if strings.EqualFold(value, "false") && slices.Contains(choices, "off") {
		p.Remedy = `write "off" with quotes where it comes from YAML, which reads off as false`
	}
	return p
}

// Listed joins words for a sentence: "a, b or c".
func Listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
