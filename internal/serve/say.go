package serve

import (
	"log/slog"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
)

// say logs a story, with settings as its readers name them.
func say(log *slog.Logger, names setting.Names, story narration.Story) {
	for _, line := range story.Lines {
		args := slices.Clone(line.Args)
		for i, arg := range args {
			switch value := arg.(type) {
			case string:
				args[i] = names.Of(value)
			case error:
				args[i] = names.Of(value.Error())
			}
		}
		levelOf(line.Level, log)(names.Of(line.Message), args...)
	}
}

func levelOf(level narration.Level, log *slog.Logger) func(string, ...any) {
	switch level {
	case narration.Debug:
		return log.Debug
	case narration.Warn:
		return log.Warn
	case narration.Error:
		return log.Error
	case narration.Info:
	}
	return log.Info
}

func keyArgs(key resolve.Key) []any {
	return []any{"namespace", key.Namespace, "service", key.Service}
}

func (t *teller) groupArgs(key resolve.Group) []any {
	args := []any{"pool", key.Pool, "health_check_mode", string(key.Check.Mode), "health_check_port", key.Check.Port}
	if t.variables { // no message names their pool
		return args[2:]
	}
	return args
}
