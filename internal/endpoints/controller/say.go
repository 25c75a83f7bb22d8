package controller

import (
	"log/slog"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/findings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/spelling"
)

// say logs a story, with settings as its readers name them.
func say(log *slog.Logger, names spelling.Names, story findings.Story) {
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

func levelOf(level findings.Level, log *slog.Logger) func(string, ...any) {
	switch level {
	case findings.Debug:
		return log.Debug
	case findings.Warn:
		return log.Warn
	case findings.Error:
		return log.Error
	case findings.Info:
	}
	return log.Info
}

func keyArgs(key assign.Key) []any {
	return []any{"namespace", key.Namespace, "service", key.Service}
}

func (t *teller) groupArgs(key assign.Group) []any {
	args := []any{"pool", key.Pool, "health_check_mode", string(key.Check.Mode), "health_check_port", key.Check.Port}
	if t.variables { // no message names their pool
		return args[2:]
	}
	return args
}
