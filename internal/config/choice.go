package config

import (
	"log/slog"
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

func (SourceKind) choices() []string {
	return choicesOf(SourceStatic, SourceFile, SourceCommand, SourceIONOS, SourceKubernetes)
}

// Decode implements envconfig.Decoder.
func (k *SourceKind) Decode(value string) error { return choose(k, value) }

// StoreKind says where the slices are written.
type StoreKind string

// The kinds of stores.
const (
	StoreMemory   StoreKind = "memory"
	StoreKubectl  StoreKind = "kubectl"
	StoreClientGo StoreKind = "client-go"
)

func (StoreKind) choices() []string {
	return choicesOf(StoreMemory, StoreKubectl, StoreClientGo)
}

// Decode implements envconfig.Decoder.
func (k *StoreKind) Decode(value string) error { return choose(k, value) }

// HealthMode says how a backend is checked.
type HealthMode string

// The modes of the health check.
const (
	HealthOff   HealthMode = "off"
	HealthTCP   HealthMode = "tcp"
	HealthHTTP  HealthMode = "http"
	HealthHTTPS HealthMode = "https"
)

func (HealthMode) choices() []string {
	return choicesOf(HealthOff, HealthTCP, HealthHTTP, HealthHTTPS)
}

// Decode implements envconfig.Decoder.
func (m *HealthMode) Decode(value string) error { return choose(m, value) }

// LogLevel is the least level that is logged.
type LogLevel string

// The levels of the log.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

func (LogLevel) choices() []string { return choicesOf(LogDebug, LogInfo, LogWarn, LogError) }

// Decode implements envconfig.Decoder.
func (l *LogLevel) Decode(value string) error { return choose(l, value) }

// Level returns the level as slog knows it.
func (l LogLevel) Level() slog.Level {
	switch l {
	case LogDebug:
		return slog.LevelDebug
	case LogWarn:
		return slog.LevelWarn
	case LogError:
		return slog.LevelError
	case LogInfo:
	}
	return slog.LevelInfo
}

// LogFormat is the form of the log's lines.
type LogFormat string

// The formats of the log.
const (
	// LogAuto is text on a terminal and JSON elsewhere.
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

func (LogFormat) choices() []string { return choicesOf(LogAuto, LogText, LogJSON) }

// Decode implements envconfig.Decoder.
func (f *LogFormat) Decode(value string) error { return choose(f, value) }

// chooser is a type with a closed set of values.
type chooser interface {
	choices() []string
}

func choicesOf[T ~string](values ...T) []string {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, string(value))
	}
	return words
}

// choose sets target to value if that is one of its choices.
func choose[T interface {
	~string
	chooser
}](target *T, value string) error {
	choices := (*target).choices()
	if slices.Contains(choices, value) {
		*target = T(value)
		return nil
	}
	p := problem{rule: "is not one of " + listed(choices, "or"), remedy: "choose one of them"}
	if near := nearest(strings.ToLower(value), choices); near != "" {
		p.remedy = "did you mean " + near + "?"
	}
	if strings.EqualFold(value, "false") && slices.Contains(choices, "off") {
		p.remedy = `write "off" with quotes where it comes from YAML, which reads off as false`
	}
	return p
}

// listed joins words for a sentence: "a, b or c".
func listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
